//! The glyphs: outlines from lucide-static 1.62.0 (ISC licence, see `public/NOTICE`), one path each on a grid of 24 by 24.
//!
//! Circles, rectangles and lines of the originals are written as path commands, so that an icon is one element. Only what some view
//! uses is here.

macro_rules! glyphs {
    ($($(#[$meta:meta])* $name:ident = $path:literal;)+) => {
        /// A glyph by the name that Lucide gives it.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Glyph {
            $($(#[$meta])* $name,)+
        }

        impl Glyph {
            /// The outline, for the `d` of a path.
            #[must_use]
            pub const fn path(self) -> &'static str {
                match self {
                    $(Self::$name => $path,)+
                }
            }
        }

        #[cfg(test)]
        const NAMES: &[&str] = &[$(stringify!($name)),+];
    };
}

glyphs! {
    /// `archive`.
    Archive = "M3 3h18a1 1 0 0 1 1 1v3a1 1 0 0 1 -1 1h-18a1 1 0 0 1 -1 -1v-3a1 1 0 0 1 1 -1z M4 8v11a2 2 0 0 0 2 2h12a2 2 0 0 0 2-2V8 M10 12h4";
    /// `ban`.
    Ban = "M2 12a10 10 0 1 0 20 0a10 10 0 1 0 -20 0 M4.929 4.929 19.07 19.071";
    /// `bot`.
    Bot = "M12 8V4H8 M6 8h12a2 2 0 0 1 2 2v8a2 2 0 0 1 -2 2h-12a2 2 0 0 1 -2 -2v-8a2 2 0 0 1 2 -2z M2 14h2 M20 14h2 M15 13v2 M9 13v2";
    /// `brain`.
    Brain = "M12 18V5 M15 13a4.17 4.17 0 01-3-4 4.17 4.17 0 01-3 4 M17.707 6.294A3 3 0 1012 5a3 3 0 10-5.707 1.294 M17.996 5.125a4 4 0 012.526 5.77 M18 18a4 4 0 002-7.465 M19.967 17.482a4 4 0 11-7.967.517 4 4 0 11-7.967-.517 M6 18a4 4 0 01-2-7.465 M6.004 5.125a4 4 0 00-2.526 5.77";
    /// `check`.
    Check = "M20 6 9 17l-5-5";
    /// `chevron-down`.
    ChevronDown = "M6 9l6 6 6-6";
    /// `chevron-left`.
    ChevronLeft = "M15 18l-6-6 6-6";
    /// `chevron-right`.
    ChevronRight = "M9 18l6-6-6-6";
    /// `chevron-up`.
    ChevronUp = "M18 15l-6-6-6 6";
    /// `circle-alert`.
    CircleAlert = "M2 12a10 10 0 1 0 20 0a10 10 0 1 0 -20 0 M12 8L12 12 M12 16L12.01 16";
    /// `circle-check`.
    CircleCheck = "M2 12a10 10 0 1 0 20 0a10 10 0 1 0 -20 0 M16 9l-5.5 5.5L8 12";
    /// `circle-check-big`.
    CircleCheckBig = "M21.801 10A10 10 0 1 1 17 3.335 M9 11l3 3L22 4";
    /// `circle-dashed`.
    CircleDashed = "M10.1 2.182a10 10 0 0 1 3.8 0 M13.9 21.818a10 10 0 0 1-3.8 0 M17.609 3.721a10 10 0 0 1 2.69 2.7 M2.182 13.9a10 10 0 0 1 0-3.8 M20.279 17.609a10 10 0 0 1-2.7 2.69 M21.818 10.1a10 10 0 0 1 0 3.8 M3.721 6.391a10 10 0 0 1 2.7-2.69 M6.391 20.279a10 10 0 0 1-2.69-2.7";
    /// `circle-question-mark`.
    CircleQuestionMark = "M2 12a10 10 0 1 0 20 0a10 10 0 1 0 -20 0 M9.09 9a3 3 0 0 1 5.83 1c0 2-3 3-3 3 M12 17h.01";
    /// `circle-stop`.
    CircleStop = "M2 12a10 10 0 1 0 20 0a10 10 0 1 0 -20 0 M10 9h4a1 1 0 0 1 1 1v4a1 1 0 0 1 -1 1h-4a1 1 0 0 1 -1 -1v-4a1 1 0 0 1 1 -1z";
    /// `circle-x`.
    CircleX = "M2 12a10 10 0 1 0 20 0a10 10 0 1 0 -20 0 M15 9l-6 6 M9 9l6 6";
    /// `copy`.
    Copy = "M10 8h10a2 2 0 0 1 2 2v10a2 2 0 0 1 -2 2h-10a2 2 0 0 1 -2 -2v-10a2 2 0 0 1 2 -2z M4 16c-1.1 0-2-.9-2-2V4c0-1.1.9-2 2-2h10c1.1 0 2 .9 2 2";
    /// `corner-left-up`.
    CornerLeftUp = "M14 9 9 4 4 9 M20 20h-7a4 4 0 0 1-4-4V4";
    /// `ellipsis`.
    Ellipsis = "M11 12a1 1 0 1 0 2 0a1 1 0 1 0 -2 0 M18 12a1 1 0 1 0 2 0a1 1 0 1 0 -2 0 M4 12a1 1 0 1 0 2 0a1 1 0 1 0 -2 0";
    /// `file-pen`.
    FilePen = "M12.659 22H18a2 2 0 0 0 2-2V8a2.4 2.4 0 0 0-.706-1.706l-3.588-3.588A2.4 2.4 0 0 0 14 2H6a2 2 0 0 0-2 2v9.34 M14 2v5a1 1 0 0 0 1 1h5 M10.378 12.622a1 1 0 0 1 3 3.003L8.36 20.637a2 2 0 0 1-.854.506l-2.867.837a.5.5 0 0 1-.62-.62l.836-2.869a2 2 0 0 1 .506-.853z";
    /// `file-text`.
    FileText = "M6 22a2 2 0 0 1-2-2V4a2 2 0 0 1 2-2h8a2.4 2.4 0 0 1 1.704.706l3.588 3.588A2.4 2.4 0 0 1 20 8v12a2 2 0 0 1-2 2z M14 2v5a1 1 0 0 0 1 1h5 M10 9H8 M16 13H8 M16 17H8";
    /// `folder-git-2`.
    FolderGit2 = "M9 20H4a2 2 0 0 1-2-2V5a2 2 0 0 1 2-2h3.9a2 2 0 0 1 1.69.9l.81 1.2a2 2 0 0 0 1.67.9H20a2 2 0 0 1 2 2v5 M11 12a2 2 0 1 0 4 0a2 2 0 1 0 -4 0 M18 19a5 5 0 0 1-5-5v8 M18 19a2 2 0 1 0 4 0a2 2 0 1 0 -4 0";
    /// `git-merge`.
    GitMerge = "M15 18a3 3 0 1 0 6 0a3 3 0 1 0 -6 0 M3 6a3 3 0 1 0 6 0a3 3 0 1 0 -6 0 M6 21V9a9 9 0 0 0 9 9";
    /// `git-pull-request`.
    GitPullRequest = "M15 18a3 3 0 1 0 6 0a3 3 0 1 0 -6 0 M3 6a3 3 0 1 0 6 0a3 3 0 1 0 -6 0 M13 6h3a2 2 0 0 1 2 2v7 M6 9L6 21";
    /// `git-pull-request-closed`.
    GitPullRequestClosed = "M3 6a3 3 0 1 0 6 0a3 3 0 1 0 -6 0 M6 9v12 M15.5 3.5l5 5 M15.5 8.5l5-5 M18 11.62V15 M15 18a3 3 0 1 0 6 0a3 3 0 1 0 -6 0";
    /// `grip-vertical`.
    GripVertical = "M8 12a1 1 0 1 0 2 0a1 1 0 1 0 -2 0 M8 5a1 1 0 1 0 2 0a1 1 0 1 0 -2 0 M8 19a1 1 0 1 0 2 0a1 1 0 1 0 -2 0 M14 12a1 1 0 1 0 2 0a1 1 0 1 0 -2 0 M14 5a1 1 0 1 0 2 0a1 1 0 1 0 -2 0 M14 19a1 1 0 1 0 2 0a1 1 0 1 0 -2 0";
    /// `inbox`.
    Inbox = "M22 12L16 12L14 15L10 15L8 12L2 12 M5.45 5.11 2 12v6a2 2 0 0 0 2 2h16a2 2 0 0 0 2-2v-6l-3.45-6.89A2 2 0 0 0 16.76 4H7.24a2 2 0 0 0-1.79 1.11z";
    /// `info`.
    Info = "M2 12a10 10 0 1 0 20 0a10 10 0 1 0 -20 0 M12 16v-4 M12 8h.01";
    /// `keyboard`.
    Keyboard = "M10 8h.01 M12 12h.01 M14 8h.01 M16 12h.01 M18 8h.01 M6 8h.01 M7 16h10 M8 12h.01 M4 4h16a2 2 0 0 1 2 2v12a2 2 0 0 1 -2 2h-16a2 2 0 0 1 -2 -2v-12a2 2 0 0 1 2 -2z";
    /// `link-2`.
    Link2 = "M9 17H7A5 5 0 0 1 7 7h2 M15 7h2a5 5 0 1 1 0 10h-2 M8 12L16 12";
    /// `list-checks`.
    ListChecks = "M13 5h8 M13 12h8 M13 19h8 M3 17l2 2 4-4 M3 7l2 2 4-4";
    /// `list-ordered`.
    ListOrdered = "M11 5h10 M11 12h10 M11 19h10 M4 4h1v5 M4 9h2 M6.5 20H3.4c0-1 2.6-1.925 2.6-3.5a1.5 1.5 0 0 0-2.6-1.02";
    /// `list-tree`.
    ListTree = "M8 5h13 M13 12h8 M13 19h8 M3 10a2 2 0 0 0 2 2h3 M3 5v12a2 2 0 0 0 2 2h3";
    /// `loader-circle`.
    LoaderCircle = "M21 12a9 9 0 1 1-6.219-8.56";
    /// `message-square`.
    MessageSquare = "M22 17a2 2 0 0 1-2 2H6.828a2 2 0 0 0-1.414.586l-2.202 2.202A.71.71 0 0 1 2 21.286V5a2 2 0 0 1 2-2h16a2 2 0 0 1 2 2z";
    /// `monitor`.
    Monitor = "M4 3h16a2 2 0 0 1 2 2v10a2 2 0 0 1 -2 2h-16a2 2 0 0 1 -2 -2v-10a2 2 0 0 1 2 -2z M8 21L16 21 M12 17L12 21";
    /// `moon`.
    Moon = "M20.985 12.486a9 9 0 1 1-9.473-9.472c.405-.022.617.46.402.803a6 6 0 0 0 8.268 8.268c.344-.215.825-.004.803.401";
    /// `octagon-pause`.
    OctagonPause = "M10 15V9 M14 15V9 M2.586 16.726A2 2 0 0 1 2 15.312V8.688a2 2 0 0 1 .586-1.414l4.688-4.688A2 2 0 0 1 8.688 2h6.624a2 2 0 0 1 1.414.586l4.688 4.688A2 2 0 0 1 22 8.688v6.624a2 2 0 0 1-.586 1.414l-4.688 4.688a2 2 0 0 1-1.414.586H8.688a2 2 0 0 1-1.414-.586z";
    /// `panel-left`.
    PanelLeft = "M5 3h14a2 2 0 0 1 2 2v14a2 2 0 0 1 -2 2h-14a2 2 0 0 1 -2 -2v-14a2 2 0 0 1 2 -2z M9 3v18";
    /// `panel-right`.
    PanelRight = "M5 3h14a2 2 0 0 1 2 2v14a2 2 0 0 1 -2 2h-14a2 2 0 0 1 -2 -2v-14a2 2 0 0 1 2 -2z M15 3v18";
    /// `pencil`.
    Pencil = "M21.174 6.812a1 1 0 0 0-3.986-3.987L3.842 16.174a2 2 0 0 0-.5.83l-1.321 4.352a.5.5 0 0 0 .623.622l4.353-1.32a2 2 0 0 0 .83-.497z M15 5l4 4";
    /// `play`.
    Play = "M5 5a2 2 0 0 1 3.008-1.728l11.997 6.998a2 2 0 0 1 .003 3.458l-12 7A2 2 0 0 1 5 19z";
    /// `plug`.
    Plug = "M12 22v-5 M15 8V2 M17 8a1 1 0 0 1 1 1v4a4 4 0 0 1-4 4h-4a4 4 0 0 1-4-4V9a1 1 0 0 1 1-1z M9 8V2";
    /// `plus`.
    Plus = "M5 12h14 M12 5v14";
    /// `rotate-ccw`.
    RotateCcw = "M3 12a9 9 0 1 0 9-9 9.75 9.75 0 0 0-6.74 2.74L3 8 M3 3v5h5";
    /// `search`.
    Search = "M21 21l-4.34-4.34 M3 11a8 8 0 1 0 16 0a8 8 0 1 0 -16 0";
    /// `send-horizontal`.
    SendHorizontal = "M3.714 3.048a.498.498 0 0 0-.683.627l2.843 7.627a2 2 0 0 1 0 1.396l-2.842 7.627a.498.498 0 0 0 .682.627l18-8.5a.5.5 0 0 0 0-.904z M6 12h16";
    /// `settings`.
    Settings = "M9.671 4.136a2.34 2.34 0 0 1 4.659 0 2.34 2.34 0 0 0 3.319 1.915 2.34 2.34 0 0 1 2.33 4.033 2.34 2.34 0 0 0 0 3.831 2.34 2.34 0 0 1-2.33 4.033 2.34 2.34 0 0 0-3.319 1.915 2.34 2.34 0 0 1-4.659 0 2.34 2.34 0 0 0-3.32-1.915 2.34 2.34 0 0 1-2.33-4.033 2.34 2.34 0 0 0 0-3.831A2.34 2.34 0 0 1 6.35 6.051a2.34 2.34 0 0 0 3.319-1.915 M9 12a3 3 0 1 0 6 0a3 3 0 1 0 -6 0";
    /// `shield-alert`.
    ShieldAlert = "M20 13c0 5-3.5 7.5-7.66 8.95a1 1 0 0 1-.67-.01C7.5 20.5 4 18 4 13V6a1 1 0 0 1 1-1c2 0 4.5-1.2 6.24-2.72a1.17 1.17 0 0 1 1.52 0C14.51 3.81 17 5 19 5a1 1 0 0 1 1 1z M12 8v4 M12 16h.01";
    /// `square-kanban`.
    SquareKanban = "M5 3h14a2 2 0 0 1 2 2v14a2 2 0 0 1 -2 2h-14a2 2 0 0 1 -2 -2v-14a2 2 0 0 1 2 -2z M8 7v7 M12 7v4 M16 7v9";
    /// `sun`.
    Sun = "M8 12a4 4 0 1 0 8 0a4 4 0 1 0 -8 0 M12 2v2 M12 20v2 M4.93 4.93l1.41 1.41 M17.66 17.66l1.41 1.41 M2 12h2 M20 12h2 M6.34 17.66l-1.41 1.41 M19.07 4.93l-1.41 1.41";
    /// `terminal`.
    Terminal = "M12 19h8 M4 17l6-6-6-6";
    /// `trash-2`.
    Trash2 = "M10 11v6 M14 11v6 M19 6v14a2 2 0 0 1-2 2H7a2 2 0 0 1-2-2V6 M3 6h18 M8 6V4a2 2 0 0 1 2-2h4a2 2 0 0 1 2 2v2";
    /// `unplug`.
    Unplug = "M19 5l3-3 M2 22l3-3 M6.3 20.3a2.4 2.4 0 0 0 3.4 0L12 18l-6-6-2.3 2.3a2.4 2.4 0 0 0 0 3.4Z M7.5 13.5 10 11 M10.5 16.5 13 14 M12 6l6 6 2.3-2.3a2.4 2.4 0 0 0 0-3.4l-2.6-2.6a2.4 2.4 0 0 0-3.4 0Z";
    /// `wrench`.
    Wrench = "M14.7 6.3a1 1 0 0 0 0 1.4l1.6 1.6a1 1 0 0 0 1.4 0l3.106-3.105c.32-.322.863-.22.983.218a6 6 0 0 1-8.259 7.057l-7.91 7.91a1 1 0 0 1-2.999-3l7.91-7.91a6 6 0 0 1 7.057-8.259c.438.12.54.662.219.984z";
    /// `x`.
    X = "M18 6 6 18 M6 6l12 12";
}

#[test]
fn every_glyph_is_used_by_some_view() {
    fn read(folder: &std::path::Path, out: &mut String) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                read(&path, out);
            } else {
                out.push_str(&std::fs::read_to_string(path).unwrap());
            }
        }
    }
    let mut sources = String::new();
    read(
        &std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src"),
        &mut sources,
    );
    let unused: Vec<_> = NAMES
        .iter()
        .filter(|name| !sources.contains(&format!("Glyph::{name}")))
        .collect();
    assert!(unused.is_empty(), "glyphs that nothing shows: {unused:?}");
}
