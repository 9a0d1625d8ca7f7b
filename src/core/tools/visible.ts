/** Makes untrusted text safe to display: no hidden characters, no terminal sequences. */

/**
 * Complete terminal sequences: colours and cursor movement (CSI), titles and links (OSC), device strings. Incomplete
 * ones stay, with a visible ESC. No alternative may begin with another one, which keeps matching linear.
 */
const ANSI =
  /(?:\u001b\[|\u009b)[0-?]*[ -/]*[@-~]|(?:\u001b\]|\u009d)[^\u0007\u001b\u009c\u009d\n]*(?:\u0007|\u009c|\u001b\\)|\u001b[PX^_][^\u001b\n]*\u001b\\/g;

/**
 * Control characters except line breaks and tabs; invisible and reordering characters (`Default_Ignorable_Code_Point`
 * includes bidi controls, zero-width characters, fillers and tags); line separators; noncharacters; lone surrogates.
 * Emoji variation selectors stay, and joiners between non-ASCII characters.
 */
const HIDDEN =
  /[^\P{Cc}\n\t]|(?!\u200c|\u200d|\ufe0e|\ufe0f)\p{Default_Ignorable_Code_Point}|(?:\u200c|\u200d)(?=$|\p{ASCII})|(?<=^|\p{ASCII})(?:\u200c|\u200d)|[\u2028\u2029\ufff9-\ufffb\p{Noncharacter_Code_Point}\p{Surrogate}]/gu;

/** For display: removes terminal sequences and names every other hidden character. */
export function visible(text: string): string {
  return text
    .replace(/\r\n?/g, "\n")
    .replace(ANSI, "")
    .replace(HIDDEN, (char) =>
      char < " "
        ? String.fromCharCode(0x2400 + char.charCodeAt(0))
        : `‹U+${hex(char.codePointAt(0) ?? 0).toUpperCase()}›`,
    );
}

/**
 * For JSON strings: each hidden character as an escape sequence. `beyond` writes those that need more than four digits.
 */
export const escapeHidden = (text: string, beyond: (code: number) => string = surrogates): string =>
  text.replace(HIDDEN, (char) =>
    char.length === 1 ? `\\u${hex(char.charCodeAt(0))}` : beyond(char.codePointAt(0) ?? 0),
  );

const surrogates = (code: number) => `\\u${hex(0xd7c0 + (code >> 10))}\\u${hex(0xdc00 + (code & 0x3ff))}`;

const hex = (code: number) => code.toString(16).padStart(4, "0");
