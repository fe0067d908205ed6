//! The stable codes of problems.

use http::StatusCode;

macro_rules! codes {
    ($($(#[$doc:meta])* $variant:ident, $name:literal, $status:ident, $title:literal, $means:literal;)+) => {
        /// A kind of problem. Its name never changes.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub(in crate::web) enum Code {
            $($(#[$doc])* #[doc = $title] $variant),+
        }

        impl Code {
            /// Every one.
            pub(in crate::web) const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// As programs see it.
            pub(in crate::web) const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name),+
                }
            }

            /// The status it is sent with.
            pub(in crate::web) const fn status(self) -> StatusCode {
                match self {
                    $(Self::$variant => StatusCode::$status),+
                }
            }

            /// What it is, the same each time.
            pub(in crate::web) const fn title(self) -> &'static str {
                match self {
                    $(Self::$variant => $title),+
                }
            }

            /// When it is sent and what to do, for its page.
            pub(super) const fn means(self) -> &'static str {
                match self {
                    $(Self::$variant => $means),+
                }
            }
        }
    };
}

codes! {
    BadRequest, "bad-request", BAD_REQUEST, "the request cannot be read",
        "A parameter, a header or the body is not what the OpenAPI document allows there: JSON that cannot be parsed, that is more than 64 arrays and objects deep or has a key twice in one object, a field or parameter that is unknown, stands there twice or has another form. Nothing was done. The detail names the place; correct it and send the request again.";
    Unauthorized, "unauthorized", UNAUTHORIZED, "a token is needed",
        "The runner asks for a token, and the request has none, or one that is not known. Send it as `Authorization: Bearer TOKEN`; a token in the address is never looked at. Which tokens there are stands in the file that `http.token_file` names.";
    Forbidden, "forbidden", FORBIDDEN, "the token's role is not enough",
        "The token is known, but what it asks for needs another role: a `viewer` looks, an `operator` also enqueues, cancels, retries and steers queues, an `admin` also chooses versions of plugins, adds schedules, purges dead letters and stops the runner.";
    ForeignOrigin, "foreign-origin", FORBIDDEN, "a page of another site asks",
        "A browser sends this request for a page of another site: its `Origin` is not the address that the runner was called by, or its `Sec-Fetch-Site` says so. Pages of other sites may change nothing here. Programs need not send either header.";
    NotFound, "not-found", NOT_FOUND, "there is none of that name",
        "No job, attempt, batch, letter, schedule or plugin has the id or name that was asked for. A job that ended is forgotten after `store.keep_completed`, or when there are more than `store.max_completed` of them.";
    NoSuchPath, "no-such-path", NOT_FOUND, "nothing is at this path",
        "No resource has this path. Paths are compared as they are: `..`, doubled slashes and another case lead nowhere. `/api/v1/openapi.json` lists all that there are.";
    MethodNotAllowed, "method-not-allowed", METHOD_NOT_ALLOWED, "the resource does not know this method",
        "The path is right, the method is not. The header `Allow` of the answer says which are known. `OPTIONS` is not: pages of other sites are not to call the runner.";
    Timeout, "timeout", REQUEST_TIMEOUT, "the request did not arrive in time",
        "The head of a request must be there within 10 s, and its body within 10 s, 20 s when it is a job, 60 s when it is many; and it may not stop for 10 s. Nothing was done. The connection is closed.";
    WrongState, "wrong-state", CONFLICT, "its state does not allow it",
        "Such as a retry of a job that runs, or of a dead one, which is brought back as a dead letter. Or of a batch that has ended or was called off and is to be sealed. Nothing was done. Look at the job or the batch and decide again.";
    Duplicate, "duplicate", CONFLICT, "a unique job stands in the way",
        "A job with the same unique key is there already, and the new one says that it is to be refused then. The detail names that job.";
    BatchClosed, "batch-closed", CONFLICT, "the batch takes nothing in",
        "The batch is sealed, so that only its own jobs can add jobs to it, or it was called off, so that what comes back into it would be called off at once. Nothing was done. Open another batch, or enqueue the job without one.";
    Changed, "changed", CONFLICT, "it is not what was meant any more",
        "Since it was listed, the dead job was brought back, and may have died again. Nothing was done. List again.";
    TooLarge, "too-large", PAYLOAD_TOO_LARGE, "the body is too large",
        "The body of the request is larger than what is taken there, or the answer would be larger than what one answer may hold. For one job that is twice `limits.payload` and 256 KiB. Nothing was done. Send less at a time.";
    UriTooLong, "uri-too-long", URI_TOO_LONG, "the address is too long",
        "An address may have 8 KiB. What is that long belongs into the body of a request.";
    UnsupportedMediaType, "unsupported-media-type", UNSUPPORTED_MEDIA_TYPE, "the body is of another type",
        "A `POST` and a `PUT` must say `Content-Type: application/json`, also without a body, and must not be compressed. No form of a foreign page can say so, which is what this is for.";
    Misdirected, "misdirected", MISDIRECTED_REQUEST, "the runner is not known by this name",
        "The `Host` of the request, or the name in its address, is none that this runner answers to: the address it listens on, `localhost`, `127.0.0.1` and `[::1]` with its port, and what `http.hosts` lists. This keeps a page whose name was made to lead here from reading anything. If a proxy or a name of your own is between, add it to `http.hosts`.";
    Invalid, "invalid", UNPROCESSABLE_ENTITY, "a value is out of its range",
        "The request can be read, but a rule refuses a value in it, such as a payload over `limits.payload`, a name with signs that names do not have, or a schedule that never comes. Nothing was done. The detail names the value and what is allowed.";
    QueueFull, "queue-full", TOO_MANY_REQUESTS, "the queue takes nothing in",
        "As many jobs wait in the queue as its `max_depth` lets, or it is drained. Nothing was done. Try again later, with growing waits.";
    HeadersTooLarge, "headers-too-large", REQUEST_HEADER_FIELDS_TOO_LARGE, "the headers are too large",
        "A request may have 64 headers and 32 KiB of them. Nothing was done.";
    Internal, "internal", INTERNAL_SERVER_ERROR, "the runner has a fault",
        "The runner gave an answer to another question. This is a fault of ours: its log has more. Whether the request was done is not known.";
    Damaged, "damaged", INTERNAL_SERVER_ERROR, "a record on disk cannot be read",
        "What was asked for is there but its record is damaged. `sandhog log check` says where. A dead letter can still be shown raw, exported and deleted.";
    NoRunner, "no-runner", SERVICE_UNAVAILABLE, "no runner is up to do it",
        "The store is open but nothing runs jobs here now.";
    Busy, "busy", SERVICE_UNAVAILABLE, "too much is under way",
        "There are as many connections, bodies or feeds as the runner keeps room for, or the disk is behind. Nothing was done. Try again after the seconds that `Retry-After` says.";
    Poisoned, "poisoned", SERVICE_UNAVAILABLE, "the store failed and takes nothing more",
        "A write or a sync failed, so nothing is taken in any more and the runner is about to end. What was acknowledged is safe. Whoever starts the runner again brings it back.";
    Stopping, "stopping", SERVICE_UNAVAILABLE, "the runner is stopping",
        "It takes nothing more. Try again once it is up again.";
    Full, "full", INSUFFICIENT_STORAGE, "the disk is full",
        "The disk that the jobs are kept on is full. Nothing was done, and nothing that was acknowledged is lost. It goes on by itself once there is room.";
}
