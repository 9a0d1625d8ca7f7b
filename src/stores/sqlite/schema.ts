/** The machine or person the records came from: one here, many on a team's server. It stands in every key. */
export const OWNER = "local";

/**
 * A step a version; never changed, only added to. Integer keys, because every fact and every record id would otherwise
 * carry a path or a UUID.
 */
export const MIGRATIONS: readonly string[] = [
  `CREATE TABLE file (
     id INTEGER PRIMARY KEY,
     owner TEXT NOT NULL,
     path TEXT NOT NULL,
     root TEXT NOT NULL,
     provider TEXT NOT NULL,
     identity TEXT NOT NULL,
     size INTEGER NOT NULL,
     modified REAL NOT NULL,
     offset INTEGER NOT NULL,
     lines INTEGER NOT NULL,
     generation INTEGER NOT NULL,
     tail TEXT NOT NULL,
     parser TEXT NOT NULL,
     gone INTEGER NOT NULL,
     UNIQUE (owner, path)
   ) STRICT;

   -- Facts as they were observed, packed: they are only ever read together. An id is never used again, so that readers may remember what stands behind it.
   CREATE TABLE chunk (
     id INTEGER PRIMARY KEY AUTOINCREMENT,
     file INTEGER NOT NULL,
     facts BLOB NOT NULL
   ) STRICT;
   CREATE INDEX chunk_of_file ON chunk (file);

   CREATE TABLE thread (
     id INTEGER PRIMARY KEY,
     owner TEXT NOT NULL,
     key TEXT NOT NULL,
     version INTEGER NOT NULL,
     projected INTEGER NOT NULL,
     UNIQUE (owner, key)
   ) STRICT;
   CREATE INDEX thread_stale ON thread (id) WHERE version > projected;

   CREATE TABLE file_thread (
     thread INTEGER NOT NULL,
     file INTEGER NOT NULL,
     PRIMARY KEY (thread, file)
   ) STRICT, WITHOUT ROWID;
   CREATE INDEX thread_of_file ON file_thread (file);

   -- What threads may have in common, as hashes: too many of one key only means that threads are linked together which need not be.
   CREATE TABLE cross_key (
     hash INTEGER NOT NULL,
     thread INTEGER NOT NULL,
     PRIMARY KEY (hash, thread)
   ) STRICT, WITHOUT ROWID;
   CREATE INDEX cross_key_of_thread ON cross_key (thread, hash);

   CREATE TABLE problem (
     id INTEGER PRIMARY KEY,
     file INTEGER,
     thread INTEGER,
     code TEXT NOT NULL,
     place TEXT NOT NULL,
     detail TEXT NOT NULL
   ) STRICT;
   CREATE INDEX problem_of_file ON problem (file);
   CREATE INDEX problem_of_thread ON problem (thread);

   CREATE TABLE root (
     thread INTEGER PRIMARY KEY,
     key TEXT NOT NULL,
     provider TEXT NOT NULL,
     cwd TEXT,
     last_activity INTEGER NOT NULL,
     settled INTEGER NOT NULL,
     internals INTEGER NOT NULL,
     record TEXT NOT NULL
   ) STRICT;
   CREATE INDEX root_newest ON root (last_activity DESC, key);

   -- What an agent spent, by day and model; summed up by whoever asks.
   CREATE TABLE spent (
     thread INTEGER NOT NULL,
     day TEXT,
     row TEXT NOT NULL
   ) STRICT;
   CREATE INDEX spent_of_thread ON spent (thread);

   CREATE TABLE agent (
     id INTEGER PRIMARY KEY,
     thread INTEGER NOT NULL,
     key TEXT NOT NULL,
     uri TEXT NOT NULL,
     session_id TEXT NOT NULL COLLATE NOCASE,
     agent_id TEXT COLLATE NOCASE
   ) STRICT;
   CREATE INDEX agent_of_thread ON agent (thread);
   CREATE INDEX agent_by_session ON agent (session_id);
   CREATE INDEX agent_by_id ON agent (agent_id);

   CREATE TABLE speaker (
     id INTEGER PRIMARY KEY,
     owner TEXT NOT NULL,
     key TEXT NOT NULL,
     UNIQUE (owner, key)
   ) STRICT;

   -- What was said, by its words. The words are not kept: they stand in the file, at the offset.
   CREATE TABLE said (
     id INTEGER PRIMARY KEY,
     file INTEGER NOT NULL,
     speaker INTEGER NOT NULL,
     at INTEGER,
     record INTEGER,
     line INTEGER NOT NULL,
     offset INTEGER NOT NULL
   ) STRICT;
   CREATE INDEX said_of_file ON said (file);
   -- Which texts hold a word, not where in them: a third of the size, and the place is looked up in the file anyway.
   CREATE VIRTUAL TABLE words USING fts5 (text, content = '', contentless_delete = 1, detail = 'none', tokenize = "unicode61 remove_diacritics 2");

   CREATE TABLE note (
     name TEXT PRIMARY KEY,
     value TEXT NOT NULL
   ) STRICT, WITHOUT ROWID;`,
  `ALTER TABLE problem ADD COLUMN times INTEGER NOT NULL DEFAULT 1;`,
  `-- A key once, with the first thread that had it, instead of once for every thread.
   DROP TABLE cross_key;
   CREATE TABLE holder (
     hash INTEGER PRIMARY KEY,
     thread INTEGER NOT NULL
   ) STRICT;
   CREATE TABLE joined (
     thread INTEGER NOT NULL,
     other INTEGER NOT NULL,
     PRIMARY KEY (thread, other)
   ) STRICT, WITHOUT ROWID;

   -- Folders, so that a look around need not ask for every file: the seal tells that all files of one were read as they lay there.
   CREATE TABLE folder (
     id INTEGER PRIMARY KEY,
     owner TEXT NOT NULL,
     path TEXT NOT NULL,
     provider TEXT NOT NULL,
     seal INTEGER,
     UNIQUE (owner, path, provider)
   ) STRICT;

   -- What is JSON is packed, and what rows of databases said can be taken back one by one.
   DROP TABLE file;
   CREATE TABLE file (
     id INTEGER PRIMARY KEY,
     folder INTEGER NOT NULL,
     name TEXT NOT NULL,
     within TEXT,
     root TEXT NOT NULL,
     identity TEXT NOT NULL,
     size INTEGER NOT NULL,
     modified REAL NOT NULL,
     offset INTEGER NOT NULL,
     lines INTEGER NOT NULL,
     generation INTEGER NOT NULL,
     tail TEXT NOT NULL,
     gone INTEGER NOT NULL,
     parser BLOB NOT NULL,
     UNIQUE (folder, name)
   ) STRICT;
   CREATE INDEX file_within ON file (within) WHERE within IS NOT NULL;
   CREATE INDEX file_unfinished ON file (id) WHERE gone = 0 AND within IS NULL AND (size = 0 OR offset < size);
   ALTER TABLE chunk ADD COLUMN replaces TEXT;
   ALTER TABLE said ADD COLUMN place TEXT;
   CREATE INDEX said_at_place ON said (file, place) WHERE place IS NOT NULL;
   DROP TABLE root;
   CREATE TABLE root (
     thread INTEGER PRIMARY KEY,
     key TEXT NOT NULL,
     provider TEXT NOT NULL,
     cwd TEXT,
     last_activity INTEGER NOT NULL,
     settled INTEGER NOT NULL,
     internals INTEGER NOT NULL,
     record BLOB NOT NULL
   ) STRICT;
   CREATE INDEX root_newest ON root (last_activity DESC, key);
   DROP TABLE spent;
   CREATE TABLE spent (
     thread INTEGER PRIMARY KEY,
     last_day TEXT,
     rows BLOB NOT NULL
   ) STRICT;`,
  `ALTER TABLE agent ADD COLUMN path TEXT;`,
  `-- Requests to an API, and the calls for agents in their answers: from a call to its request without a scan.
   CREATE TABLE exchange (
     id TEXT PRIMARY KEY,
     file INTEGER NOT NULL,
     at REAL NOT NULL,
     speaker TEXT NOT NULL,
     thread TEXT NOT NULL,
     row BLOB NOT NULL
   ) STRICT;
   CREATE INDEX exchange_newest ON exchange (at DESC, id);
   CREATE INDEX exchange_of_thread ON exchange (thread, at DESC, id);
   CREATE INDEX exchange_of_speaker ON exchange (speaker, at DESC, id);
   CREATE INDEX exchange_of_file ON exchange (file);
   CREATE TABLE invocation (
     call TEXT NOT NULL,
     exchange TEXT NOT NULL,
     PRIMARY KEY (call, exchange)
   ) STRICT, WITHOUT ROWID;
   CREATE INDEX invocation_of_exchange ON invocation (exchange);`,
  `-- Files whose text is not indexed to where their records are read: where to go on, and the parser's memory at that place.
   CREATE TABLE text_due (
     file INTEGER PRIMARY KEY,
     offset INTEGER NOT NULL,
     lines INTEGER NOT NULL,
     parser BLOB
   ) STRICT;`,
  `-- Values of many rows packed together; each row says where its own stand.
   CREATE TABLE pack (
     id INTEGER PRIMARY KEY AUTOINCREMENT,
     texts BLOB NOT NULL
   ) STRICT;
   ALTER TABLE chunk ADD COLUMN pack INTEGER;
   CREATE INDEX chunk_in_pack ON chunk (pack) WHERE pack IS NOT NULL;
   ALTER TABLE root ADD COLUMN pack INTEGER;
   CREATE INDEX root_in_pack ON root (pack) WHERE pack IS NOT NULL;`,
];
