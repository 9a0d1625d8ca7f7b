const TITLE = new TextEncoder().encode('{"type":"title"');

/** Files of oh-my-pi begin with the title of the session, those of Pi do not. */
export const isTitled = (head: Uint8Array): boolean => TITLE.every((byte, i) => head[i] === byte);
/** False for both if the beginning of the file is not written yet. */
export const isUntitled = (head: Uint8Array): boolean => head.length >= TITLE.length && !isTitled(head);
