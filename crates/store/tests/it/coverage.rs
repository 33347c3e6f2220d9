//! No statement without a test: what `store` offers is named in the tests of its noun.

use std::fs;
use std::path::Path;

#[test]
fn every_function_of_a_noun_is_named_in_its_tests() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut functions = 0;
    let mut missing = Vec::new();
    for entry in fs::read_dir(root.join("src")).unwrap() {
        let path = entry.unwrap().path();
        let source = fs::read_to_string(&path).unwrap();
        // Methods are indented; the functions of a noun are not.
        let names = source
            .lines()
            .filter_map(|line| line.strip_prefix("pub async fn ")?.split(['(', '<']).next());
        let tests = root.join("tests/it").join(path.file_name().unwrap());
        let tests = fs::read_to_string(tests).unwrap_or_default();
        let words: Vec<&str> = tests
            .split(|c: char| !c.is_alphanumeric() && c != '_')
            .collect();
        for name in names {
            functions += 1;
            if !words.contains(&name) {
                missing.push(format!("{}: {name}", path.display()));
            }
        }
    }
    assert!(functions > 80, "only {functions} functions were found");
    assert_eq!(missing, Vec::<String>::new());
}
