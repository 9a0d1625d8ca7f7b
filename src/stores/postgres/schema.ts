/**
 * The tables of a team server. Every table of shipped data has `owner` as the first column of its key and of all of its
 * indexes, so that it can be distributed by it (docs/adr/029-team-data-keyed-by-owner.md).
 * Records, events and details are JSON text that the database never looks into: `jsonb` refuses some valid JSON, such as
 * "\u0000". What queries need is in columns.
 */
export interface Migration {
  readonly version: number;
  /** Servers that know only this version may run on the result; they write what they always wrote. */
  readonly compatibleFrom: number;
  readonly script: string;
}

/** Tables whose rows belong to one owner each. */
export const OWNED_TABLES = [
  "owners",
  "machines",
  "threads",
  "copies",
  "agents",
  "logs",
  "events",
  "lists",
  "details",
  "spent",
  "months",
] as const;
/** Small tables that every node of a cluster needs. */
export const SHARED_TABLES = ["tokens", "sessions", "shares", "budgets", "pruned", "audit"] as const;

export const MIGRATIONS: readonly Migration[] = [
  {
    version: 3,
    compatibleFrom: 3,
    script: `
create table retinue.owners (
  owner text primary key,
  -- Counts the shipments of this owner; rows have the number of the shipment that changed them last.
  seq bigint not null default 0,
  joined_at timestamptz not null default now(),
  shipped_at timestamptz,
  -- No thread of this owner has a later activity.
  active_at timestamptz not null default 'epoch',
  -- The number of rows in "spent".
  spent_rows bigint not null default 0,
  -- The highest revision that was given to a document with one of the future.
  ahead bigint not null default 0
);
create table retinue.machines (
  owner text not null,
  machine text not null,
  version text not null,
  shipped_at timestamptz not null,
  -- Counts the shipments of this machine. It learns from it when a backup was restored.
  shipments bigint not null default 0,
  primary key (owner, machine)
);
create table retinue.threads (
  owner text not null,
  thread text not null,
  seq bigint not null,
  -- Documents of this thread up to this revision are void: it was removed.
  floor bigint not null default 0,
  -- False if it was removed, or if its top-level agent has not arrived yet.
  present boolean not null default false,
  -- The last activity in its tree; 1970-01-01 if it is unknown.
  active_at timestamptz not null default 'epoch',
  -- The machine whose copy of the thread is stored; null after it removed the thread.
  machine text,
  provider text,
  project text,
  cwd text,
  status text,
  primary key (owner, thread)
);
create index threads_active on retinue.threads (owner, active_at desc, thread desc) where present;
create index threads_seq on retinue.threads (owner, seq);
-- Other machines that have sent documents of a thread, which were not stored.
create table retinue.copies (
  owner text not null,
  thread text not null,
  machine text not null,
  -- The machine is asked to send the whole thread.
  wanted boolean not null,
  primary key (owner, thread, machine)
);
create index copies_wanted on retinue.copies (owner, machine) where wanted;
create table retinue.agents (
  owner text not null,
  thread text not null,
  uri text not null,
  parent text,
  -- Position among its siblings.
  place integer not null,
  revision bigint not null,
  seq bigint not null,
  present boolean not null,
  provider text not null,
  session_id text not null,
  agent_id text,
  type text,
  project text,
  cwd text,
  status text not null,
  -- Its spawn calls that were refused.
  refused integer not null,
  started_at timestamptz,
  active_at timestamptz,
  record text not null,
  primary key (owner, thread, uri)
);
create index agents_uri on retinue.agents (owner, uri);
create index agents_seq on retinue.agents (owner, seq);
create index agents_session on retinue.agents (owner, lower(session_id) text_pattern_ops);
create index agents_own_id on retinue.agents (owner, lower(agent_id) text_pattern_ops);
create index agents_running on retinue.agents (owner, active_at desc) where present and status = 'running';
create index agents_failed on retinue.agents (owner, active_at desc) where present and (status in ('errored', 'shutdown') or refused > 0);
create table retinue.logs (
  owner text not null,
  thread text not null,
  agent text not null,
  -- Positions from this one on were never stored, or are void.
  length integer not null,
  -- Rebuilt logs: [position, revision] pairs, JSON; events from the position on with a lower revision are void.
  cuts text not null,
  -- The shipment with the last cut; 0 without one.
  cut_seq bigint not null,
  primary key (owner, thread, agent)
);
create index logs_cut on retinue.logs (owner, cut_seq) where cut_seq > 0;
create table retinue.events (
  owner text not null,
  thread text not null,
  agent text not null,
  position integer not null,
  -- The first day of the month of the event; 1970-01-01 if its time is unknown or not believable.
  bucket date not null,
  revision bigint not null,
  seq bigint not null,
  id text not null,
  at timestamptz,
  kind text not null,
  event text not null,
  -- The words of its text. Each begins with a hash of the owner, so that a search reads only the owner's words.
  words tsvector not null,
  primary key (owner, thread, agent, position, bucket)
) partition by range (bucket);
create index events_id on retinue.events (owner, thread, agent, id);
create index events_time on retinue.events (owner, thread, at nulls first, agent, position);
create index events_seq on retinue.events (owner, seq);
create index events_words on retinue.events using gin (words);
create table retinue.events_undated partition of retinue.events for values from ('1970-01-01') to ('1970-01-02');
-- Long lists of an agent, such as its spans, in parts.
create table retinue.lists (
  owner text not null,
  thread text not null,
  agent text not null,
  what text not null,
  at integer not null,
  revision bigint not null,
  seq bigint not null,
  items text not null,
  primary key (owner, thread, agent, what, at)
);
create index lists_seq on retinue.lists (owner, seq);
create table retinue.details (
  owner text not null,
  thread text not null,
  agent text not null,
  what text not null,
  revision bigint not null,
  value text not null,
  primary key (owner, thread, agent, what)
);
-- Usage by agent, day and model: the detail "spent" in columns, for sums.
create table retinue.spent (
  owner text not null,
  thread text not null,
  agent text not null,
  n integer not null,
  revision bigint not null,
  day date,
  model text,
  type text,
  project text,
  -- Null if a price is not known.
  cost_usd double precision,
  tokens bigint not null,
  calls bigint not null,
  row text not null,
  primary key (owner, thread, agent, n)
);
create index spent_day on retinue.spent (owner, day);
-- The rows of "spent" of a month, summed up by day, model, type and so on, JSON; 1970-01-01 for those without a day.
create table retinue.months (
  owner text not null,
  month date not null,
  sums text not null,
  primary key (owner, month)
);

create table retinue.tokens (
  id text primary key,
  -- SHA-256. Tokens are random, so a slow hash would add nothing.
  hash text not null unique,
  owner text not null,
  scope text not null check (scope in ('ship', 'read', 'admin')),
  teams text[] not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz,
  revoked_at timestamptz
);
-- Browsers that were given access with a token. They lose it with the token.
create table retinue.sessions (
  hash text primary key,
  token text not null references retinue.tokens (id),
  expires_at timestamptz not null
);
-- Which teams may read the threads of an owner.
create table retinue.shares (
  team text not null,
  owner text not null,
  primary key (team, owner)
);
-- What a person, a team or a project may spend in a month.
create table retinue.budgets (
  of text not null check (of in ('owner', 'team', 'project')),
  name text not null,
  usd double precision not null check (usd > 0),
  set_at timestamptz not null default now(),
  primary key (of, name)
);
-- Months of events that ended before this day were dropped.
create table retinue.pruned (
  what text primary key,
  day date not null
);
create table retinue.audit (
  -- Random: a counter would have to be the same on all nodes of a cluster.
  id text primary key,
  at timestamptz not null default now(),
  token text,
  owner text,
  action text not null,
  subject text,
  -- Whose thread the subject is.
  thread_owner text
);
create index audit_at on retinue.audit (at, id);
`,
  },
];
