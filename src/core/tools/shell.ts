const PLAIN = /^[\w@%+=:,./-]+$/;

/** A command as it is typed in a POSIX shell. */
export const shellCommand = (words: readonly string[]) =>
  words.map((word) => (PLAIN.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`)).join(" ");
