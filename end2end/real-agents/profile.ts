// The tool lists that sessions must see: those of `domain::profile`, read from its snapshot, so that there is one list only.
import { readFileSync } from "node:fs";
import path from "node:path";

const snapshot = path.resolve(
  import.meta.dirname,
  "../../crates/domain/src/snapshots/domain__profile__tests__tool_lists.snap",
);

/** The tools of a profile, sorted. */
export function profileTools(name: string): string[] {
  const lines = readFileSync(snapshot, "utf8").split("\n");
  const start = lines.indexOf(name);
  if (start < 0) throw new Error(`${snapshot} has no profile "${name}"`);
  const rest = lines.slice(start + 1);
  const end = rest.findIndex((line) => !line.startsWith("  "));
  return rest.slice(0, end < 0 ? undefined : end).map((line) => line.trim()).sort();
}
