//! What a program of a run writes, and how it gets to the machine.

use std::fs::{self, File};
use std::io::{self, Seek};
use std::os::unix::fs::FileExt;
use std::path::Path;

use daybreak_plan::Command;

/// Private folder of every program.
pub const HOME: &str = "/tmp/home";
/// Longest line of a program quoted in an error.
const LONGEST_LINE: usize = 300;

/// What a program writes.
pub struct Output {
    /// Its standard output.
    pub stdout: File,
    /// Its standard error.
    pub stderr: File,
}

impl Output {
    /// Bytes of standard output and error.
    pub fn sizes(&self) -> [u64; 2] {
        [&self.stdout, &self.stderr].map(|file| file.metadata().map_or(0, |data| data.len()))
    }

    /// The last line that it wrote, preferring standard error.
    pub fn last_line(&self) -> Option<String> {
        const TAIL: u64 = 4_096;
        let last = |file: &File| {
            let size = file.metadata().ok()?.len();
            let mut tail = vec![0; size.min(TAIL) as usize];
            file.read_exact_at(&mut tail, size.saturating_sub(TAIL)).ok()?;
            let text = String::from_utf8_lossy(&tail);
            // A line with zero bytes is data, not text.
            let line = text.lines().rev().find(|line| !line.trim().is_empty() && !line.contains('\0'))?;
            Some(line.trim().chars().take(LONGEST_LINE).collect())
        };
        last(&self.stderr).or_else(|| last(&self.stdout))
    }

    /// Copies the output, and the new or changed files of the private folder, to the machine.
    pub fn keep(&self, place: &Path, command: &Command) -> io::Result<()> {
        let out = place.join("out");
        for (name, mut file) in [("stdout", &self.stdout), ("stderr", &self.stderr)] {
            file.rewind()?;
            io::copy(&mut file, &mut File::create(out.join(name))?)?;
        }
        let files = out.join("files");
        copy(Path::new(HOME), &files)?;
        for name in command.files.keys() {
            if fs::read(files.join(name)).ok() == fs::read(place.join("in").join(name)).ok() {
                fs::remove_file(files.join(name))?;
            }
        }
        Ok(())
    }
}

/// Copies the files of a folder and of those in it.
pub fn copy(from: &Path, to: &Path) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            fs::create_dir_all(&target)?;
            copy(&entry.path(), &target)?;
        } else if entry.file_type()?.is_file() {
            fs::write(&target, fs::read(entry.path())?)?;
            fs::set_permissions(&target, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
        }
    }
    Ok(())
}
