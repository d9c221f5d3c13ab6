//! Bytes that are too many for a message: in the object store, under their hash.

use super::{Error, Fleet};
use crate::job::hash;
use crate::names;
use async_nats::jetstream::object_store::ObjectStore;
use tokio::io::AsyncReadExt;

/// Bytes of an object that are read.
const LARGEST: u64 = 256 << 20;

fn failed(error: impl std::fmt::Display) -> Error {
    Error::failed("the object store", error)
}

impl Fleet {
    async fn object_store(&self) -> Result<ObjectStore, Error> {
        let store = self.jetstream.get_object_store(names::OBJECTS).await;
        store.map_err(failed)
    }

    /// Stores bytes under their hash, unless they are there.
    pub(crate) async fn put_object(&self, bytes: &[u8]) -> Result<String, Error> {
        let name = hash(bytes);
        let store = self.object_store().await?;
        if store.info(&name).await.is_ok_and(|info| !info.deleted) {
            return Ok(name);
        }
        let mut reader = bytes;
        store
            .put(name.as_str(), &mut reader)
            .await
            .map_err(failed)?;
        Ok(name)
    }

    /// The bytes of a hash, verified.
    pub(crate) async fn object(&self, name: &str) -> Result<Vec<u8>, Error> {
        let store = self.object_store().await?;
        let object = store.get(name).await.map_err(failed)?;
        let mut bytes = Vec::new();
        object
            .take(LARGEST)
            .read_to_end(&mut bytes)
            .await
            .map_err(failed)?;
        if hash(&bytes) == name {
            Ok(bytes)
        } else {
            Err(failed("an object is not what its name says"))
        }
    }
}
