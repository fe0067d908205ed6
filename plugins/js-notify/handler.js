// Turns events of code hosts and monitors into chat messages, and hands them to the `webhook` handler.

import { job, Permanent } from './sandhog/index.js';

/**
 * Turns an event into a message for a chat and enqueues a job of kind `webhook` that posts it.
 *
 * Known are GitHub's `push`, `pull_request`, `issues` and `workflow_run`, Alertmanager's alerts, and anything with
 * `title` and perhaps `text`, `url` and `level`. The header `url`, or else the setting `url`, says where to.
 * The setting `field` names the field of the message that the chat reads: `text` (Slack, Mattermost, Matrix bots) or
 * `content` (Discord).
 *
 * Permanent failures: `unknown-event`, `no-url`. An event that nobody needs to hear of is a result without a job.
 */
export const notify = job(
  { kind: 'notify', summary: 'Turns an event into a chat message.', timeout: '10s', maxAttempts: 5 },
  (event, ctx) => {
    const text = message(event);
    if (text === undefined) {
      const keys = Object.keys(event ?? {}).slice(0, 8).join(', ');
      throw new Permanent('the event is of no known form', { code: 'unknown-event', details: { keys } });
    }
    if (text === null) {
      ctx.info('nothing to tell');
      return { text: null };
    }
    const url = ctx.header('url') ?? ctx.config('url');
    if (url === undefined) {
      throw new Permanent('no URL: give the job a header `url`, or the kind a setting `url`', { code: 'no-url' });
    }
    const id = ctx.enqueue('webhook', { [ctx.config('field') ?? 'text']: text }, { headers: { url } });
    ctx.info('handed on', { id });
    return { text, job: id };
  },
);

/** The message of an event: a text, null when there is nothing to tell, undefined for an unknown form. */
export function message(event) {
  const found = FORMS.find(([known]) => event !== null && typeof event === 'object' && known(event));
  return found?.[1](event);
}

const FORMS = [
  [(event) => Array.isArray(event.commits) && event.ref !== undefined, push],
  [(event) => event.pull_request?.title !== undefined, pullRequest],
  [(event) => event.issue?.title !== undefined, issue],
  [(event) => event.workflow_run?.name !== undefined, workflow],
  [(event) => Array.isArray(event.alerts), alerts],
  [(event) => typeof event.title === 'string', plain],
];

const repository = (event) => event.repository?.full_name ?? 'a repository';
const sender = (event) => event.sender?.login ?? event.pusher?.name ?? 'somebody';
const line = (text) => String(text ?? '').split('\n')[0].slice(0, 200);
const link = (text, url) => (url === undefined ? text : `${text} ${url}`);

function push(event) {
  if (event.commits.length === 0) return null; // a branch came or went
  const branch = event.ref.replace(/^refs\/(heads|tags)\//, '');
  const many = event.commits.length === 1 ? '1 commit' : `${event.commits.length} commits`;
  const subjects = event.commits.slice(0, 5).map((commit) => `- ${line(commit.message)}`);
  if (event.commits.length > 5) subjects.push('- …');
  return [link(`${sender(event)} pushed ${many} to ${repository(event)}/${branch}`, event.compare), ...subjects].join('\n');
}

function pullRequest(event) {
  const { title, number, merged, html_url: url } = event.pull_request;
  const action = event.action === 'closed' && merged ? 'merged' : event.action;
  if (!['opened', 'closed', 'reopened', 'merged', 'ready_for_review'].includes(action)) return null;
  return link(`${sender(event)} ${action.replaceAll('_', ' ')} ${repository(event)}#${number}: ${line(title)}`, url);
}

function issue(event) {
  const { title, number, html_url: url } = event.issue;
  if (!['opened', 'closed', 'reopened'].includes(event.action)) return null;
  return link(`${sender(event)} ${event.action} ${repository(event)}#${number}: ${line(title)}`, url);
}

function workflow(event) {
  const { name, conclusion, head_branch: branch, html_url: url } = event.workflow_run;
  if (!['failure', 'timed_out', 'startup_failure'].includes(conclusion)) return null;
  return link(`${name} ended with ${conclusion} on ${repository(event)}/${branch}`, url);
}

function alerts(event) {
  if (event.alerts.length === 0) return null;
  return event.alerts
    .map(({ status, labels = {}, annotations = {} }) => {
      const about = annotations.summary ?? annotations.description ?? labels.instance ?? '';
      return `${status === 'resolved' ? 'resolved' : (labels.severity ?? 'firing')}: ${labels.alertname ?? 'an alert'} ${line(about)}`.trim();
    })
    .join('\n');
}

function plain({ title, text, url, level }) {
  const head = link(level === undefined ? line(title) : `${level}: ${line(title)}`, url);
  return text === undefined ? head : `${head}\n${text}`;
}
