//! What a built site weighs on the wire: every file, each compressed alone, brotli 11 and gzip 9.
//! What it may weigh is not said here.

use std::io::{Result, Write};
use std::path::{Path, PathBuf};

/// Bytes on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Weight {
    pub brotli: usize,
    pub gzip: usize,
}

impl Weight {
    /// The weight of one file.
    pub fn of(file: &Path) -> Result<Weight> {
        let bytes = std::fs::read(file)?;
        Ok(Weight { brotli: brotli_size(&bytes)?, gzip: gzip_size(&bytes)? })
    }

    /// The sum of both.
    pub fn plus(self, other: Weight) -> Weight {
        Weight { brotli: self.brotli + other.brotli, gzip: self.gzip + other.gzip }
    }
}

/// All files of a site, sub-folders included, by path.
pub fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            files.extend(self::files(&path)?);
        } else {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

fn brotli_size(bytes: &[u8]) -> Result<usize> {
    let parameters = brotli::enc::BrotliEncoderParams { quality: 11, ..Default::default() };
    let mut packed = Vec::new();
    brotli::BrotliCompress(&mut &bytes[..], &mut packed, &parameters)?;
    Ok(packed.len())
}

fn gzip_size(bytes: &[u8]) -> Result<usize> {
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    packer.write_all(bytes)?;
    Ok(packer.finish()?.len())
}
