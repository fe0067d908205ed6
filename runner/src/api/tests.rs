//! Requests over a real socket, and what must not take the server down.

use std::{
    fs,
    io::{Read, Write},
    os::unix::{fs::PermissionsExt, net::UnixStream},
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use sandhog_model::{JobId, NewJob, State};

use super::{
    CallError, Client, ConnectError, ErrorCode, FRAME_BYTES, Handle, JOBS_PER_ENQUEUE, Options,
    Request, Response, SOCKET_NAME, Server, double::Double, frame,
};
use crate::store::{JobFilter, LetterName, LetterRef, PageRequest};

/// A served double; stops when dropped.
struct Served {
    double: Arc<Double>,
    data: PathBuf,
    handle: Handle,
    runtime: tokio::runtime::Runtime,
    task: Option<tokio::task::JoinHandle<()>>,
    _folder: tempfile::TempDir,
}

fn serve_in(below: &str, change: impl FnOnce(&mut Options)) -> Served {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join(below);
    fs::create_dir_all(&data).unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap();
    let double = Double::new();
    let mut options = Options::new(&data);
    change(&mut options);
    let entered = runtime.enter();
    let (server, handle) = Server::bind(options).unwrap();
    drop(entered);
    let task = runtime.spawn(server.run(double.ctx(true)));
    Served {
        double,
        data,
        handle,
        runtime,
        task: Some(task),
        _folder: folder,
    }
}

fn serve() -> Served {
    serve_in("data", |_| {})
}

impl Served {
    fn client(&self) -> Client {
        Client::connect(&self.data).unwrap()
    }

    fn raw(&self) -> UnixStream {
        let stream = UnixStream::connect(self.data.join(SOCKET_NAME)).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(10)))
            .unwrap();
        stream
    }

    fn stop(&mut self) {
        self.handle.stop();
        self.handle.stop();
        let task = self.task.take().unwrap();
        self.runtime.block_on(task).unwrap();
    }
}

fn page() -> NewJob {
    NewJob {
        kind: "page".into(),
        payload: b"# hi".to_vec(),
        ..NewJob::default()
    }
}

fn enqueued(client: &mut Client, job: NewJob) -> JobId {
    let jobs = vec![job];
    match client.call(&Request::Enqueue { jobs }).unwrap() {
        Response::Enqueued(answers) => answers.into_iter().next().unwrap().unwrap().id,
        other => panic!("{other:?}"),
    }
}

fn code(result: Result<Response, CallError>) -> ErrorCode {
    match result {
        Err(CallError::Refused(error)) => error.code,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_job_goes_in_and_is_seen_through_every_request() {
    let served = serve();
    let mut client = served.client();
    assert!(
        matches!(client.call(&Request::Ping).unwrap(), Response::Pong(pong) if pong.version == "0.0.0-test")
    );
    let id = enqueued(&mut client, page());
    let Response::Job(view) = client.call(&Request::Job { id }).unwrap() else {
        panic!()
    };
    assert_eq!(
        (view.row.id, view.job.payload.as_slice()),
        (id, &b"# hi"[..])
    );
    let all = Request::Jobs {
        filter: JobFilter::default(),
        page: PageRequest {
            limit: 50,
            cursor: None,
        },
    };
    assert!(matches!(client.call(&all).unwrap(), Response::Jobs(page) if page.rows.len() == 1));
    assert!(
        matches!(client.call(&Request::Logs { id, attempt: None }).unwrap(), Response::Logs(logs) if logs.running && logs.attempt == 1)
    );
    served.double.dies(id);
    let Response::Letter(letter) = client.call(&Request::Letter { id, logs: false }).unwrap()
    else {
        panic!()
    };
    assert_eq!(
        letter.attempts[0].failure.as_ref().unwrap().code,
        "unreachable"
    );
    assert_eq!(
        code(client.call(&Request::Retry { id })),
        ErrorCode::WrongState
    );
    let requeued = client.call(&Request::Requeue {
        letters: [id, JobId(1)]
            .map(|id| LetterRef {
                name: LetterName::Job(id),
                token: None,
            })
            .to_vec(),
        dry_run: false,
    });
    let Response::Amended(answers) = requeued.unwrap() else {
        panic!()
    };
    assert_eq!(answers[0], Ok(LetterName::Job(id)));
    assert_eq!(answers[1].as_ref().unwrap_err().code, ErrorCode::NotFound);
    assert!(
        matches!(client.call(&Request::Plugins).unwrap(), Response::Plugins(plugins) if plugins.catalog.serving("page").is_some())
    );
    assert!(
        matches!(client.call(&Request::Workers).unwrap(), Response::Workers(rows) if rows[0].ended == 9)
    );
    assert!(
        matches!(client.call(&Request::Stats).unwrap(), Response::Stats(stats) if stats.runner.as_ref().unwrap().plugins == 1)
    );
}

#[test]
fn each_job_of_a_request_is_answered_for_itself() {
    let served = serve();
    let mut client = served.client();
    let large = NewJob {
        payload: vec![0; (1 << 20) + 1],
        ..page()
    };
    let nameless = NewJob {
        kind: String::new(),
        ..page()
    };
    let jobs = vec![page(), large, nameless, page()];
    let Response::Enqueued(answers) = client.call(&Request::Enqueue { jobs }).unwrap() else {
        panic!()
    };
    assert!(answers[0].is_ok() && answers[3].is_ok());
    let refused = answers[1].as_ref().unwrap_err();
    assert!(refused.text.contains("1048577") && refused.text.contains("limits.payload"));
    assert_eq!(answers[2].as_ref().unwrap_err().code, ErrorCode::Invalid);
    let jobs = vec![page(); JOBS_PER_ENQUEUE + 1];
    assert_eq!(
        code(client.call(&Request::Enqueue { jobs })),
        ErrorCode::Invalid
    );
    served.double.fill_disk();
    let jobs = vec![page()];
    assert_eq!(
        code(client.call(&Request::Enqueue { jobs })),
        ErrorCode::Full
    );
}

#[test]
fn a_wait_ends_with_the_job_or_with_its_time() {
    let served = serve();
    let mut client = served.client();
    let id = enqueued(&mut client, page());
    let brief = Request::Wait { id, timeout_ms: 1 };
    let Response::Waited(waited) = client.call(&brief).unwrap() else {
        panic!()
    };
    assert_eq!(waited.progress.unwrap().total, Some(4));
    assert!(waited.ended.is_none() && waited.reason.is_none());
    let double = Arc::clone(&served.double);
    let ending = std::thread::spawn(move || double.completes(id, "text/html", b"<h1>"));
    let long = Request::Wait {
        id,
        timeout_ms: u64::MAX,
    };
    let began = Instant::now();
    let Response::Waited(waited) = client.call(&long).unwrap() else {
        panic!()
    };
    ending.join().unwrap();
    assert!(began.elapsed() < Duration::from_millis(1_900));
    assert_eq!(waited.ended.unwrap().output.unwrap().payload, b"<h1>");
    let unknown = Request::Wait {
        id: JobId(3),
        timeout_ms: 1,
    };
    assert_eq!(code(client.call(&unknown)), ErrorCode::NotFound);
}

#[test]
fn queues_say_which_kinds_nobody_serves() {
    let served = serve();
    let mut client = served.client();
    enqueued(&mut client, page());
    let other = NewJob {
        kind: "resize".into(),
        queue: Some("images".into()),
        ..page()
    };
    let id = enqueued(&mut client, other);
    let Response::Queues(queues) = client.call(&Request::Queues).unwrap() else {
        panic!()
    };
    assert_eq!(queues[0].row.counts, [(State::Available, 1)]);
    assert_eq!(queues[0].reason, None);
    assert_eq!(
        queues[1].reason.as_deref(),
        Some("no plugin serves resize: see `sandhog plugin ls`")
    );
    let brief = Request::Wait { id, timeout_ms: 1 };
    assert!(
        matches!(client.call(&brief).unwrap(), Response::Waited(waited) if waited.reason.is_some())
    );
}

#[test]
fn garbage_ends_its_own_connection_and_no_other() {
    let served = serve();
    let mut steady = served.client();
    let mut garbage = served.raw();
    garbage
        .write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        .unwrap();
    let mut answer = Vec::new();
    let _ = garbage.read_to_end(&mut answer);
    assert_eq!(answer[..8], frame::greeting());

    let mut large = served.raw();
    large.write_all(&frame::greeting()).unwrap();
    large.write_all(&u32::MAX.to_be_bytes()).unwrap();
    let mut answer = Vec::new();
    large.read_to_end(&mut answer).unwrap();
    let reply: super::Reply = frame::decode_body(&answer[12..]).unwrap();
    let error = reply.unwrap_err();
    assert_eq!(error.code, ErrorCode::BadRequest);
    assert!(error.text.contains(&FRAME_BYTES.to_string()), "{error}");

    let mut torn = served.raw();
    torn.write_all(&frame::greeting()).unwrap();
    torn.write_all(&[0, 0, 1, 0, 0x93]).unwrap();
    drop(torn);

    let mut nonsense = served.raw();
    nonsense.write_all(&frame::greeting()).unwrap();
    nonsense.write_all(&[0, 0, 0, 2, 0xc1, 0xc1]).unwrap();
    let mut answer = Vec::new();
    nonsense.read_to_end(&mut answer).unwrap();
    let reply: super::Reply = frame::decode_body(&answer[12..]).unwrap();
    assert_eq!(reply.unwrap_err().code, ErrorCode::BadRequest);

    assert!(steady.call(&Request::Ping).is_ok());
}

#[test]
fn another_version_is_told_so() {
    let served = serve();
    let mut newer = served.raw();
    let mut greeting = frame::greeting();
    greeting[7] = 200;
    newer.write_all(&greeting).unwrap();
    let mut answer = Vec::new();
    newer.read_to_end(&mut answer).unwrap();
    let reply: super::Reply = frame::decode_body(&answer[12..]).unwrap();
    assert!(reply.unwrap_err().text.contains("protocol 200"));
}

#[test]
fn a_path_longer_than_a_socket_address_works() {
    let long = format!("{0}/{0}/{0}", "d".repeat(80));
    let mut served = serve_in(&long, |_| {});
    assert!(served.data.as_os_str().len() > 240);
    assert!(served.client().call(&Request::Ping).is_ok());
    served.stop();
    assert!(!served.data.join(SOCKET_NAME).exists());
}

#[test]
fn the_socket_is_the_owners_alone_and_a_stale_one_is_replaced() {
    let mut served = serve();
    let socket = served.data.join(SOCKET_NAME);
    let mode = fs::metadata(&socket).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    served.stop();
    assert!(matches!(
        Client::connect(&served.data),
        Err(ConnectError::Nobody { .. })
    ));
    // What a killed runner leaves: a socket nobody listens on.
    drop(std::os::unix::net::UnixListener::bind(&socket).unwrap());
    assert!(matches!(
        Client::connect(&served.data),
        Err(ConnectError::Nobody { .. })
    ));
    let entered = served.runtime.enter();
    let (server, _handle) = Server::bind(Options::new(&served.data)).unwrap();
    drop(entered);
    served.runtime.spawn(server.run(served.double.ctx(false)));
    assert!(served.client().call(&Request::Ping).is_ok());
}

#[test]
fn one_connection_too_many_is_told_so() {
    let served = serve_in("data", |options| options.connections = 1);
    let mut first = served.client();
    assert!(first.call(&Request::Ping).is_ok());
    let mut second = served.client();
    assert_eq!(code(second.call(&Request::Ping)), ErrorCode::Busy);
    drop(first);
    let deadline = Instant::now() + Duration::from_secs(10);
    while served.client().call(&Request::Ping).is_err() {
        assert!(Instant::now() < deadline, "the place is never free again");
    }
}

#[test]
fn a_connection_that_rests_is_ended_and_a_stop_does_not_wait_for_one() {
    let mut served = serve_in("data", |options| options.idle = Duration::from_millis(20));
    let mut resting = served.raw();
    resting.write_all(&frame::greeting()).unwrap();
    let mut answer = Vec::new();
    resting.read_to_end(&mut answer).unwrap();
    assert_eq!(answer, frame::greeting());
    served.stop();

    let mut served = serve();
    let _client = served.client();
    let began = Instant::now();
    served.stop();
    assert!(began.elapsed() < Duration::from_secs(2));
}

#[test]
fn nobody_silence_and_strangers_are_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("none");
    assert!(matches!(
        Client::connect(&missing),
        Err(ConnectError::Nobody { .. })
    ));
    let listener = std::os::unix::net::UnixListener::bind(folder.path().join(SOCKET_NAME)).unwrap();
    let stranger = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.write_all(b"220 smtp").unwrap();
        let (stream, _) = listener.accept().unwrap();
        drop(stream);
    });
    let connect = |path: &Path| Client::connect(path).unwrap_err();
    assert!(matches!(
        connect(folder.path()),
        ConnectError::Protocol { .. }
    ));
    assert!(matches!(
        connect(folder.path()),
        ConnectError::Silent { .. }
    ));
    stranger.join().unwrap();
}
