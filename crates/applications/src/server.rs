//! A serving side that is one thread with a runtime.

use std::future::{Future, pending};
use std::thread::{self, JoinHandle};

use sixbench_traffic::error::cancelled;
use sixbench_traffic::{Cancel, Certificate, Error, Finish, Result, Server};
use tokio::sync::watch;

use crate::runtime;

/// A server whose thread takes orders, and then ends.
pub struct RuntimeServer<T> {
    port: u16,
    certificate: Option<Certificate>,
    orders: watch::Sender<Order>,
    thread: Option<JoinHandle<Result<T>>>,
}

/// The state of the orders.
#[derive(Clone, Copy)]
enum Order {
    Serve,
    Finish(Finish),
    Stop,
}

/// The orders, as the thread gets them.
#[derive(Clone)]
pub struct Orders(watch::Receiver<Order>);

impl Orders {
    /// Waits for the order to finish.
    pub async fn finish(&mut self) -> Finish {
        match self.0.wait_for(|order| matches!(order, Order::Finish(_))).await.map(|order| *order) {
            Ok(Order::Finish(finish)) => finish,
            // Nobody gives orders any more: the thread is stopped.
            _ => pending().await,
        }
    }

    async fn stop(&mut self) {
        // An error means that nobody gives orders any more.
        let _ = self.0.wait_for(|order| matches!(order, Order::Stop)).await;
    }
}

impl<T: Send + 'static> RuntimeServer<T> {
    /// Starts the thread that serves; its value is the server's result. It begins on that thread, so what it needs of
    /// its runtime is made there.
    pub fn start<W: Future<Output = Result<T>>>(
        workload: &'static str,
        port: u16,
        certificate: Option<Certificate>,
        cancel: &Cancel,
        serve: impl FnOnce(Orders) -> W + Send + 'static,
    ) -> Result<Box<dyn Server<T>>> {
        let (orders, taken) = watch::channel(Order::Serve);
        let cancel = cancel.clone();
        let thread = thread::Builder::new()
            .name(workload.to_owned())
            .spawn(move || {
                let mut stopping = Orders(taken.clone());
                runtime::block_on(&cancel, async {
                    tokio::select! {
                        result = async { serve(Orders(taken)).await } => result,
                        () = stopping.stop() => Err(cancelled()),
                    }
                })
            })
            .map_err(|e| Error::system(format!("starting the server of {workload}"), "clone", e))?;
        Ok(Box::new(Self { port, certificate, orders, thread: Some(thread) }))
    }
}

impl<T: Send + 'static> Server<T> for RuntimeServer<T> {
    fn port(&self) -> u16 {
        self.port
    }

    fn certificate(&self) -> Option<&Certificate> {
        self.certificate.as_ref()
    }

    fn finish(mut self: Box<Self>, finish: &Finish) -> Result<T> {
        self.orders.send_replace(Order::Finish(*finish));
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(result)) => result,
            Some(Err(panic)) => std::panic::resume_unwind(panic),
            None => Err(cancelled()),
        }
    }
}

impl<T> Drop for RuntimeServer<T> {
    fn drop(&mut self) {
        self.orders.send_replace(Order::Stop);
        if let Some(thread) = self.thread.take() {
            // Its result, or its panic, is of no interest any more.
            let _ = thread.join();
        }
    }
}
