/** Statements about tokens, sessions of browsers, teams and the audit log. These tables are not divided by owner. */
export const TOKENS = {
  create: `insert into retinue.tokens (id, hash, owner, scope, teams, expires_at) values ($1, $2, $3, $4, $5::text[], $6::timestamptz)`,
  share: `insert into retinue.shares (team, owner) select unnest($2::text[]), $1 on conflict do nothing`,
  list: `select t.id, t.owner, t.scope, t.teams, t.created_at, t.expires_at, t.revoked_at from retinue.tokens t order by t.created_at, t.id`,
  revoke: `update retinue.tokens set revoked_at = now() where id = $1 and revoked_at is null returning id`,
  exists: `select t.id from retinue.tokens t where t.id = $1`,
  byHash: `select t.id, t.owner, t.scope, t.teams from retinue.tokens t
    where t.hash = $1 and t.revoked_at is null and (t.expires_at is null or t.expires_at > now())`,
  bySession: `select t.id, t.owner, t.scope, t.teams from retinue.sessions s join retinue.tokens t on t.id = s.token
    where s.hash = $1 and s.expires_at > now() and t.revoked_at is null and (t.expires_at is null or t.expires_at > now())`,
  openSession: `insert into retinue.sessions (hash, token, expires_at) values ($1, $2, now() + interval '30 days')`,
  closeSession: `delete from retinue.sessions where hash = $1`,
  forgetSessions: `delete from retinue.sessions where expires_at < now()`,
  sharedWith: `select distinct s.owner from retinue.shares s where s.team = any($1::text[]) order by 1`,
  everyOwner: `select distinct s.owner from retinue.tokens s where s.scope = 'ship' order by 1`,
  audit: `insert into retinue.audit (token, owner, action, subject) values ($1, $2, $3, $4)`,
  audited: `select a.at, a.token, a.owner, a.action, a.subject from retinue.audit a order by a.id desc limit $1`,
} as const;
