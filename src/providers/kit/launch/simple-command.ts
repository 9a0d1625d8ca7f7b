/**
 * A word of a shell script: its literal pieces. Between two pieces is an expansion with an unknown value, such as a
 * variable. A word without expansions has one piece.
 */
export type Word = readonly string[];

/** A simple command of a script: a program with its arguments. */
export interface SimpleCommand {
  readonly words: readonly Word[];
  /** The command's standard input, if the script contains the text; null for another input, undefined for none. */
  readonly input: Word | null | undefined;
  /** The script does not wait for the command. */
  readonly background: boolean;
  /** How often a loop runs it; null if unknown. */
  readonly times: number | null;
  /** The file that its output is redirected to. */
  readonly writes: { readonly path: string; readonly isAppended: boolean } | null;
}

/** The text of a word without expansions; null for others. */
export const literal = (word: Word | undefined): string | null => (word?.length === 1 ? (word[0] ?? null) : null);
