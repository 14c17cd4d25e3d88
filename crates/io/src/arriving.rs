//! The reading of a piece of a file on a server: it begins when its bytes are there.

use std::sync::Arc;

use base::Result;
use remote::Wanted;

use crate::source::{PieceReader, Step};

/// Makes the reader, once the bytes are there.
type Make = Box<dyn FnOnce() -> Result<Box<dyn PieceReader>> + Send>;

/// See the module.
pub(crate) struct Arriving {
    wanted: Arc<Wanted>,
    make: Option<Make>,
    reader: Option<Box<dyn PieceReader>>,
}

impl Arriving {
    /// What `make` reads when these bytes are there. They stay as long as it reads.
    pub fn boxed(
        wanted: Arc<Wanted>,
        make: impl FnOnce() -> Result<Box<dyn PieceReader>> + Send + 'static,
    ) -> Box<dyn PieceReader> {
        Box::new(Self { wanted, make: Some(Box::new(make)), reader: None })
    }
}

impl PieceReader for Arriving {
    fn step(&mut self) -> Result<Step> {
        if let Some(reader) = &mut self.reader {
            return reader.step();
        }
        if !self.wanted.is_ready()? {
            return Ok(Step::Wait(self.wanted.clone()));
        }
        match self.make.take() {
            Some(make) => {
                self.reader = Some(make()?);
                Ok(Step::More)
            }
            None => Ok(Step::End),
        }
    }
}
