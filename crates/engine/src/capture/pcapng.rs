//! The pcapng file format (draft-ietf-opsawg-pcapng): one section, one interface block for each
//! link, one enhanced packet block for each packet. Little-endian, nanoseconds.

use std::io::{self, BufWriter, Write};

const SECTION_HEADER: u32 = 0x0A0D_0D0A;
const BYTE_ORDER_MAGIC: u32 = 0x1A2B_3C4D;
const INTERFACE_DESCRIPTION: u32 = 1;
const ENHANCED_PACKET: u32 = 6;
const LINKTYPE_ETHERNET: u16 = 1;
const OPTION_END: u16 = 0;
const OPTION_IF_NAME: u16 = 2;
const OPTION_IF_TSRESOL: u16 = 9;
/// Timestamps are in units of 10^-9 s.
const NANOSECONDS: u8 = 9;

/// Writes one file.
pub struct PcapngWriter<W: Write> {
    output: BufWriter<W>,
    block: Vec<u8>,
}

impl<W: Write> PcapngWriter<W> {
    /// Starts a file.
    pub fn new(output: W) -> io::Result<Self> {
        let mut writer = Self { output: BufWriter::with_capacity(1 << 16, output), block: Vec::new() };
        writer.u32(BYTE_ORDER_MAGIC);
        writer.u16(1);
        writer.u16(0);
        // The section's length is not known in advance.
        writer.block.extend(u64::MAX.to_le_bytes());
        writer.write_block(SECTION_HEADER)?;
        Ok(writer)
    }

    /// Adds the next interface.
    pub fn interface(&mut self, name: &str, snaplen: u32) -> io::Result<()> {
        self.u16(LINKTYPE_ETHERNET);
        self.u16(0);
        self.u32(snaplen);
        self.option(OPTION_IF_NAME, name.as_bytes());
        self.option(OPTION_IF_TSRESOL, &[NANOSECONDS]);
        self.option(OPTION_END, &[]);
        self.write_block(INTERFACE_DESCRIPTION)
    }

    /// Adds a packet of `length` bytes of which `kept` was captured.
    pub fn packet(&mut self, interface: u32, ns: u64, kept: &[u8], length: u32) -> io::Result<()> {
        self.u32(interface);
        self.u32((ns >> 32) as u32);
        self.u32(ns as u32);
        self.u32(kept.len() as u32);
        self.u32(length);
        self.padded(kept);
        self.write_block(ENHANCED_PACKET)
    }

    /// Writes out what is buffered.
    pub fn finish(mut self) -> io::Result<()> {
        self.output.flush()
    }

    fn option(&mut self, code: u16, value: &[u8]) {
        self.u16(code);
        self.u16(value.len() as u16);
        self.padded(value);
    }

    fn padded(&mut self, bytes: &[u8]) {
        self.block.extend_from_slice(bytes);
        self.block.resize(self.block.len().next_multiple_of(4), 0);
    }

    fn u16(&mut self, value: u16) {
        self.block.extend(value.to_le_bytes());
    }

    fn u32(&mut self, value: u32) {
        self.block.extend(value.to_le_bytes());
    }

    /// Writes the block in hand between its type and its two lengths.
    fn write_block(&mut self, kind: u32) -> io::Result<()> {
        let length = (self.block.len() as u32 + 12).to_le_bytes();
        self.output.write_all(&kind.to_le_bytes())?;
        self.output.write_all(&length)?;
        self.output.write_all(&self.block)?;
        self.output.write_all(&length)?;
        self.block.clear();
        Ok(())
    }
}
