//! Hides the types of a transaction's values, answer and error. So the code that runs transactions
//! is compiled only once, and not once for each transaction.

use std::any::Any;
use std::sync::Arc;

use super::SqlTransaction;
use crate::LedgerError;
use crate::sql::SqlFuture;

/// The answer or the error of a transaction. Its type is known only to the code that hides the type
/// and to [`answer_of`].
pub(crate) type ErasedValue = Box<dyn Any + Send>;

/// The future of a transaction or a reading of hidden types.
pub(crate) type ErasedResult<'a> = SqlFuture<'a, ErasedValue, ErasedFailure>;

/// A transaction for either database. It can be run several times.
pub(crate) type ErasedTransaction =
    Box<dyn for<'a> Fn(&'a SqlTransaction) -> ErasedResult<'a> + Send + Sync>;

/// A reading for either database. It is run once.
pub(crate) type ErasedReading =
    Box<dyn for<'a> FnOnce(&'a SqlTransaction) -> ErasedResult<'a> + Send>;

/// Why a transaction of hidden types failed.
pub(crate) enum ErasedFailure {
    /// The transaction's own error.
    Own(ErasedValue),
    /// The database did not run or commit the transaction.
    Database(LedgerError),
}

impl From<LedgerError> for ErasedFailure {
    fn from(error: LedgerError) -> Self {
        Self::Database(error)
    }
}

/// Hides the types of a transaction and of the values in its `input`.
pub(crate) fn erase<A, T, E, F>(input: A, transaction: F) -> ErasedTransaction
where
    A: Send + Sync + 'static,
    T: Send + 'static,
    E: Send + 'static,
    F: for<'a> Fn(&'a SqlTransaction, &'a A) -> SqlFuture<'a, T, E> + Send + Sync + 'static,
{
    let shared = Arc::new((input, transaction));
    Box::new(move |tx| {
        let shared = Arc::clone(&shared);
        Box::pin(async move {
            let (input, transaction) = &*shared;
            erase_result(transaction(tx, input).await)
        })
    })
}

/// Hides the types of a reading and of the values in its `input`.
pub(crate) fn erase_reading<A, T, E, F>(input: A, query: F) -> ErasedReading
where
    A: Send + Sync + 'static,
    T: Send + 'static,
    E: Send + 'static,
    F: for<'a> FnOnce(&'a SqlTransaction, &'a A) -> SqlFuture<'a, T, E> + Send + 'static,
{
    Box::new(move |tx| Box::pin(async move { erase_result(query(tx, &input).await) }))
}

fn erase_result<T: Send + 'static, E: Send + 'static>(
    result: Result<T, E>,
) -> Result<ErasedValue, ErasedFailure> {
    match result {
        Ok(value) => Ok(Box::new(value)),
        Err(error) => Err(ErasedFailure::Own(Box::new(error))),
    }
}

/// Returns the answer of a transaction or a reading whose types `T` and `E` were hidden.
///
/// # Panics
/// Panics if the transaction or reading had other types.
pub(crate) fn answer_of<T: 'static, E: From<LedgerError> + 'static>(
    result: Result<ErasedValue, ErasedFailure>,
) -> Result<T, E> {
    let named = "the transaction has the types that its caller names";
    match result {
        Ok(value) => Ok(*value.downcast().expect(named)),
        Err(ErasedFailure::Own(error)) => Err(*error.downcast().expect(named)),
        Err(ErasedFailure::Database(error)) => Err(error.into()),
    }
}
