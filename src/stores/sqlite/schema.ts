/** The machine or person that the records come from; part of every key. Only a team server has several. */
export const OWNER = "local";

/**
 * One step per version. Steps are only added, never changed. Keys are integers, because otherwise every fact and every
 * record would repeat a path or a UUID.
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

   -- Packed facts, which are only read together. Ids are not reused, so that readers can cache by id.
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

   -- Usage of agents by day and model; queries compute the sums.
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

   -- Positions of indexed texts. The texts themselves are in the files, at the offset.
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
   -- Only which texts contain a word, not where: a third of the size, and the text is read from the file anyway.
   CREATE VIRTUAL TABLE words USING fts5 (text, content = '', contentless_delete = 1, detail = 'none', tokenize = "unicode61 remove_diacritics 2");

   CREATE TABLE note (
     name TEXT PRIMARY KEY,
     value TEXT NOT NULL
   ) STRICT, WITHOUT ROWID;`,
  `ALTER TABLE problem ADD COLUMN times INTEGER NOT NULL DEFAULT 1;`,
  `-- Each key once, with the first thread that has it, instead of once per thread.
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

   -- Folders, so that a sync need not check every file: a matching seal means that all files of the folder were read.
   CREATE TABLE folder (
     id INTEGER PRIMARY KEY,
     owner TEXT NOT NULL,
     path TEXT NOT NULL,
     provider TEXT NOT NULL,
     seal INTEGER,
     UNIQUE (owner, path, provider)
   ) STRICT;

   -- JSON is packed; facts of database rows can be retracted one by one.
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
  `-- API requests, and the spawn calls in their responses, to find the request of a call without a scan.
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
  `-- Files whose text index is behind their records: where to continue, and the parser's state there.
   CREATE TABLE text_due (
     file INTEGER PRIMARY KEY,
     offset INTEGER NOT NULL,
     lines INTEGER NOT NULL,
     parser BLOB
   ) STRICT;`,
  `-- Values of many rows compressed together; each row has the position of its own.
   CREATE TABLE pack (
     id INTEGER PRIMARY KEY AUTOINCREMENT,
     texts BLOB NOT NULL
   ) STRICT;
   ALTER TABLE chunk ADD COLUMN pack INTEGER;
   CREATE INDEX chunk_in_pack ON chunk (pack) WHERE pack IS NOT NULL;
   ALTER TABLE root ADD COLUMN pack INTEGER;
   CREATE INDEX root_in_pack ON root (pack) WHERE pack IS NOT NULL;`,
  `-- Keys that join threads only to those that offer them in "holder"; many threads may seek the same.
   CREATE TABLE seeker (
     hash INTEGER NOT NULL,
     thread INTEGER NOT NULL,
     PRIMARY KEY (hash, thread)
   ) STRICT, WITHOUT ROWID;`,
  `-- Whether the file is the transcript of an agent of the thread, whose record shows the size of the file.
   ALTER TABLE file_thread ADD COLUMN described INTEGER NOT NULL DEFAULT 0;`,
  `-- Numbers of rows in other tables, to notice that a damaged page has lost some.
   ALTER TABLE thread ADD COLUMN files INTEGER NOT NULL DEFAULT 0;
   ALTER TABLE thread ADD COLUMN joins INTEGER NOT NULL DEFAULT 0;
   ALTER TABLE file ADD COLUMN chunks INTEGER NOT NULL DEFAULT 0;`,
];
