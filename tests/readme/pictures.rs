//! Pictures of a terminal, drawn from real output.

use std::fs;

use anstyle_svg::{Palette, Term};

use crate::{ccstat, docs, pages, read, root};

/// A picture on a page.
#[derive(Debug)]
pub(crate) struct Picture {
    /// The page, and the file from the root.
    page: String,
    file: String,
    /// The command line from its alternative text.
    pub(crate) command: String,
}

/// Returns the pictures of these pages. Their alternative text names the command: ``![Output of `ccstat …`:
/// …](FILE.svg)``.
pub(crate) fn all(pages: &[String]) -> Vec<Picture> {
    let mut pictures = Vec::new();
    for page in pages {
        let text = read(page);
        for (at, start) in text.match_indices("![") {
            let (alternative, rest) = text[at + start.len()..].split_once("](").expect("a whole picture");
            let file = rest.split_once(')').expect("a whole picture").0;
            let file = if page.starts_with("docs/") { format!("docs/{file}") } else { file.to_owned() };
            // Pictures of pages in a browser are taken by hand.
            if file.ends_with(".png") {
                continue;
            }
            let command = alternative.split('`').nth(1);
            let command = command.unwrap_or_else(|| panic!("{page}: `{file}` does not name its command"));
            pictures.push(Picture { page: page.clone(), file, command: command.to_owned() });
        }
    }
    pictures
}

const fn rgb(hex: u32) -> anstyle::RgbColor {
    let [_, red, green, blue] = hex.to_be_bytes();
    anstyle::RgbColor(red, green, blue)
}

/// Black, red, green, yellow, blue, magenta, cyan, white; then the bright ones. Readable on the dark
/// background.
const PALETTE: Palette = Palette([
    rgb(0x48_4f_58),
    rgb(0xff_7b_72),
    rgb(0x7e_e7_87),
    rgb(0xe3_b3_41),
    rgb(0x79_c0_ff),
    rgb(0xd2_a8_ff),
    rgb(0x76_e3_ea),
    rgb(0xb1_ba_c4),
    rgb(0x8b_94_9e),
    rgb(0xff_a1_98),
    rgb(0xaf_f5_b4),
    rgb(0xf2_cc_60),
    rgb(0xa5_d6_ff),
    rgb(0xe2_c5_ff),
    rgb(0xb3_f0_ff),
    rgb(0xff_ff_ff),
]);

/// Returns the screen of a terminal after the command was typed. A failing command is followed by its exit
/// code.
fn screen(command: &str) -> String {
    let prompt = "\u{1b}[32m$\u{1b}[0m";
    let arguments: Vec<&str> = command.split(' ').skip(1).collect();
    let output = ccstat(&arguments).env_remove("NO_COLOR").env("FORCE_COLOR", "1").output();
    let output = output.expect("the program starts");
    let text = String::from_utf8(output.stdout).expect("text");
    let mut screen = format!("{prompt} \u{1b}[1m{command}\u{1b}[0m\n{text}");
    match output.status.code().expect("an exit code") {
        0 => {}
        code => screen.push_str(&format!("{prompt} \u{1b}[1mecho $?\u{1b}[0m\n{code}\n")),
    }
    // An empty line at the end, for as much space as at the top.
    screen.trim_end().to_owned() + "\n "
}

fn draw(command: &str) -> String {
    let term = Term::new()
        .palette(PALETTE)
        .fg_color(rgb(0xe6_ed_f3).into())
        .bg_color(rgb(0x0d_11_17).into())
        .min_width_px(680);
    term.render_svg(&screen(command))
}

#[test]
fn pictures_show_what_is_printed() {
    #[expect(clippy::disallowed_methods, reason = "the variable that rewrites the console blocks, too")]
    let overwrite = std::env::var("TRYCMD").is_ok_and(|how| how == "overwrite");
    for Picture { page, file, command } in all(&pages()) {
        let drawn = draw(&command);
        if overwrite {
            fs::write(root().join(&file), &drawn).expect("the picture can be written");
        }
        assert!(
            read(&file) == drawn,
            "{file} in {page} is not what `{command}` prints: look at it after TRYCMD=overwrite cargo test --test readme"
        );
    }
}

#[test]
fn every_picture_is_shown() {
    let shown: Vec<String> = all(&pages()).into_iter().map(|picture| picture.file).collect();
    for file in docs("svg") {
        assert!(shown.contains(&file), "no page shows {file}");
    }
}
