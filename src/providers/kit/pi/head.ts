const TITLE = new TextEncoder().encode('{"type":"title"');

/** Files of oh-my-pi begin with the title of the session, those of Pi do not. */
export const isTitled = (head: Uint8Array): boolean => TITLE.every((byte, i) => head[i] === byte);
/** Not for a file whose beginning is not written yet. */
export const isUntitled = (head: Uint8Array): boolean => head.length >= TITLE.length && !isTitled(head);
