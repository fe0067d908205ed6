// A runner of a test's own, in a folder of its own, at a port that the system gives.
import { spawn, execFile } from "node:child_process";
import { copyFile, mkdir, mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { promisify } from "node:util";

const PROGRAM = needed("SANDHOG_BIN");
const GUEST = needed("SANDHOG_GUEST");
/// What the plugin is granted.
const GRANTS = `[grants]\nenqueue = { queues = ["*"] }\n`;
/// How often something outside is looked at while it is waited for, and for how long, in milliseconds.
const POLL = 20;
const PATIENCE = 60_000;

export function needed(name) {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set: run \`cargo xtask browser\``);
  return value;
}

/// Looks again and again until there is something.
export async function until(what, look, patience = PATIENCE) {
  const end = Date.now() + patience;
  for (;;) {
    const seen = await look();
    if (seen) return seen;
    if (Date.now() > end) throw new Error(`waited in vain for ${what}`);
    await new Promise((done) => setTimeout(done, POLL));
  }
}

export class Runner {
  #child;
  #said = "";

  /// A folder with the misbehaving plugin, beside files and settings given.
  static async start({ settings = "", files = { "misbehave.toml": GRANTS } } = {}) {
    const home = await mkdtemp(join(tmpdir(), "sandhog-browser-"));
    await mkdir(join(home, "plugins"));
    await copyFile(GUEST, join(home, "plugins", basename(GUEST)));
    for (const [name, text] of Object.entries(files)) await writeFile(join(home, "plugins", name), text);
    await writeFile(join(home, "sandhog.toml"), settings);
    const runner = new Runner();
    runner.home = home;
    try {
      await runner.begin();
    } catch (error) {
      await runner.drop();
      throw error;
    }
    return runner;
  }

  async begin() {
    this.#said = "";
    const words = ["start", "--data", "data", "--plugins", "plugins", "--listen", "127.0.0.1:0"];
    this.#child = spawn(PROGRAM, words, { cwd: this.home, stdio: ["ignore", "ignore", "pipe"] });
    this.#child.stderr.setEncoding("utf8").on("data", (text) => { this.#said += text; });
    const address = await until("the runner to be ready", () => {
      if (this.#child.exitCode !== null) throw new Error(`the runner ended:\n${this.#said}`);
      return this.#said.match(/ http=(\S+)/)?.[1];
    });
    this.url = `http://${address}`;
  }

  /// Ends it as an operator would, its folder left for another start.
  async end() {
    if (this.#child.exitCode !== null) return;
    const gone = once(this.#child, "exit");
    this.#child.kill("SIGTERM");
    await gone;
  }

  async drop() {
    this.#child.kill("SIGKILL");
    await rm(this.home, { recursive: true, force: true });
  }

  /// A command of the program on its data.
  async tell(...words) {
    const { stdout } = await promisify(execFile)(PROGRAM, words, { cwd: this.home, maxBuffer: 64 << 20 });
    return stdout.trim();
  }

  /// What the API answers, which is none of its problems.
  async api(path, body, method = body === undefined ? "GET" : "POST") {
    const headers = { "content-type": "application/json" };
    const answer = await fetch(`${this.url}/api/v1${path}`, {
      method, headers, body: body === undefined ? undefined : JSON.stringify(body),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return JSON.parse(text);
  }

  async enqueue(job) {
    return (await this.api("/jobs", job)).id;
  }

  async job(id) {
    return this.api(`/jobs/${id}`);
  }

  /// The job once it is in a state.
  async reaches(id, state) {
    return until(`${id} to be ${state}`, async () => {
      const job = await this.job(id);
      return job.state === state && job;
    });
  }

  /// The same plugin in another version: with one more section that says nothing.
  async replacePlugin() {
    const file = join(this.home, "plugins", basename(GUEST));
    await writeFile(`${file}.new`, Buffer.concat([await readFile(file), Buffer.from([0, 3, 1, 0x78, 0x79])]));
    await rename(`${file}.new`, file);
  }

  async count() {
    return (await this.api("/dead/count")).count;
  }
}

/// Something for every page to show: the ids of jobs by what became of them.
export async function stock(runner) {
  const far = { in: "1h" };
  const jobs = {
    completed: { kind: "progress", payload: { rows: [1, 2, 3] }, queue: "reports", tags: ["monthly"], headers: { origin: "nightly" } },
    dead: { kind: "permanent", payload: "no address", queue: "mail" },
    trapped: { kind: "panic", payload: "at once", queue: "mail", max_attempts: 1 },
    retryable: { kind: "flaky", headers: { fail: "9" }, queue: "mail", backoff: "fixed 1h" },
    scheduled: { kind: "echo", payload: "later", queue: "reports", ...far },
    running: { kind: "sleep", headers: { ms: "25000" }, queue: "slow" },
    children: { kind: "spawn", headers: { children: "3" } },
  };
  const ids = {};
  for (const [name, job] of Object.entries(jobs)) ids[name] = await runner.enqueue(job);
  for (const [name, state] of [["completed", "completed"], ["dead", "dead"], ["trapped", "dead"], ["retryable", "retryable"], ["running", "running"], ["children", "completed"]]) {
    await runner.reaches(ids[name], state);
  }
  ids.batch = await runner.tell("batch", "open", "--name", "december", "--data", "data");
  await runner.tell("enqueue", "echo", "within", "--in", "1h", "--batch", ids.batch, "--data", "data");
  await runner.api("/crons/nightly", { schedule: "30 2 * * *", zone: "Europe/Paris", kind: "echo", payload: "{}" }, "PUT");
  await runner.api("/queues/reports/pause", {});
  return ids;
}

/// Every page there is, with something on it.
export function pages(ids) {
  return {
    overview: "/",
    "overview-day": "/?past=day",
    queues: "/queues",
    jobs: "/jobs",
    job: `/jobs/${ids.completed}`,
    "job-running": `/jobs/${ids.running}`,
    "job-retryable": `/jobs/${ids.retryable}`,
    waiting: "/waiting",
    workers: "/workers",
    dead: "/dead",
    letter: `/dead/${ids.trapped}`,
    batches: "/batches",
    crons: "/crons",
    cron: "/crons/nightly",
    plugins: "/plugins",
    plugin: "/plugins/misbehave",
    settings: "/settings",
    login: "/login",
    missing: "/jobs/01ARZ3NDEKTSV4RRFFQ69G5FAV",
  };
}
