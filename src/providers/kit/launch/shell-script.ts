import { KnownText, printedBy } from "./known-text.ts";
import { literal, type SimpleCommand, type Word } from "./simple-command.ts";

/** Deeper nesting and longer scripts are not followed. */
const MAX_DEPTH = 4;
const MAX_LENGTH = 50_000;

/**
 * The simple commands of a POSIX shell script, including those in substitutions, sub-shells and loops. An approximation:
 * which branch runs is unknown, and functions are not followed.
 */
export function simpleCommands(script: string, depth = 0): readonly SimpleCommand[] {
  if (depth > MAX_DEPTH || script.length > MAX_LENGTH) return [];
  return new ScriptReader(script, depth).read();
}

const KEYWORDS = new Set(["if", "then", "else", "elif", "fi", "do", "{", "}", "!", "while", "until"]);
const OPENS = new Set(["if", "for", "while", "until", "case", "{"]);
const CLOSES = new Set(["fi", "done", "esac", "}"]);
const isBlank = (char: string | undefined) => char === " " || char === "\t" || char === "\r";
const EXPANDS = /[$`]/;
/** Characters with a meaning for the shell. White space other than these is part of a word. */
const WORD_END = /[ \t\r\n;&|()<>'"\\$`]/g;
/** An expansion in the body of a heredoc, whether or not its end word is quoted. */
const EXPANSION = /\$\{[^}\n]*\}|\$\([^)\n]*\)|\$\w+|`[^`\n]*`/;

/** The beginning of a heredoc, with the word that ends it. */
const HEREDOC = /<<-?[ \t]*\\?["']?([A-Za-z_]\w*)["']?(?!<)/y;

class ScriptReader {
  readonly #text: string;
  readonly #depth: number;
  #at = 0;
  readonly #found: SimpleCommand[] = [];
  /** The current command. */
  #words: Word[] = [];
  #input: Word | null | undefined = undefined;
  #writes: SimpleCommand["writes"] = null;
  /** The index of the command whose output is the input of the current one; -1 if it is not a simple one. */
  #pipedFrom: number | null = null;
  /** Commands whose input is the output of another one, by index. */
  readonly #pipes = new Map<number, number>();
  readonly #known: KnownText;
  /** Number of runs of each loop around the current command. */
  readonly #loops: (number | null)[] = [];
  /** The first command of the current list, such as `a | b && c`, and of the lists around it. */
  #list = 0;
  readonly #outer: { readonly list: number; readonly isParenthesis: boolean }[] = [];
  /** Heredocs whose bodies follow the current line. */
  #heredocs: { readonly end: string; readonly take: (body: Word) => void }[] = [];

  constructor(text: string, depth: number) {
    this.#text = text;
    this.#depth = depth;
    this.#known = new KnownText(text);
  }

  read(): readonly SimpleCommand[] {
    while (this.#at < this.#text.length) this.#step();
    this.#end(false);
    for (const [to, from] of this.#pipes) {
      const [command, source] = [this.#found[to], this.#found[from]];
      if (command?.input === null && source !== undefined) this.#found[to] = { ...command, input: printedBy(source) };
    }
    return this.#found;
  }

  #step() {
    const char = this.#text[this.#at] ?? "";
    if (isBlank(char)) this.#at += 1;
    else if (char === "\\" && this.#text[this.#at + 1] === "\n") this.#at += 2;
    else if (char === "#") this.#at = this.#lineEnd();
    else if (char === "\n") {
      this.#end(false);
      this.#at += 1;
      this.#readBodies();
    } else if (char === ";" || char === "(" || char === ")") {
      this.#end(char === ";" ? false : null);
      this.#at += 1;
      if (char === "(") this.#open(true);
      else if (char === ")" && this.#outer.at(-1)?.isParenthesis === true) this.#close();
    } else if (char === "&" && this.#text[this.#at + 1] === ">") this.#redirect();
    else if (char === "&" || char === "|") this.#operator(char);
    else if (char === "<" || char === ">" || this.#isNumbered(char)) this.#redirect();
    else this.#word();
  }

  /** A redirection of a file descriptor, such as `2>`. */
  #isNumbered(char: string): boolean {
    const next = this.#text[this.#at + 1];
    return (next === ">" || next === "<") && char >= "0" && char <= "9";
  }

  #operator(char: string) {
    const isDouble = this.#text[this.#at + 1] === char;
    const isSimple = this.#words.length > 0;
    this.#end(isDouble || char === "|" ? null : true);
    this.#pipedFrom = char === "|" && !isDouble ? (isSimple ? this.#found.length - 1 : -1) : null;
    this.#at += isDouble || this.#text.startsWith("|&", this.#at) ? 2 : 1;
  }

  #word() {
    const word = this.#readWord();
    const text = literal(word);
    if (this.#words.length === 0 && text !== null) {
      if (OPENS.has(text)) this.#open(false);
      if (CLOSES.has(text)) this.#close();
      if (text === "for") return this.#forLoop();
      if (text === "done" || text === "esac") return void this.#loops.pop();
      if (text === "case") this.#loops.push(1);
      if (text === "while" || text === "until") this.#loops.push(null);
      if (KEYWORDS.has(text)) return;
      if (text === "function") return void this.#functionName();
    }
    this.#words.push(word);
  }

  #functionName() {
    this.#skipBlanks();
    this.#readWord();
  }

  /** `for name in words; do`: the number of words, if all are literal. */
  #forLoop() {
    const words: Word[] = [];
    this.#skipBlanks();
    while (this.#at < this.#text.length && !/[;\n(]/.test(this.#text[this.#at] ?? "")) {
      words.push(this.#readWord());
      this.#skipBlanks();
    }
    const values = literal(words[1]) === "in" ? words.slice(2) : [];
    const counts = values.map(countOf);
    this.#loops.push(
      values.length === 0 || counts.includes(null) ? null : counts.reduce<number>((sum, n) => sum + (n ?? 0), 0),
    );
  }

  #skipBlanks() {
    while (isBlank(this.#text[this.#at])) this.#at += 1;
  }

  #lineEnd(): number {
    const end = this.#text.indexOf("\n", this.#at);
    return end < 0 ? this.#text.length : end;
  }

  /** Begins a list inside of the current one. */
  #open(isParenthesis: boolean) {
    this.#outer.push({ list: this.#list, isParenthesis });
    this.#list = this.#found.length;
  }

  #close() {
    this.#list = this.#outer.pop()?.list ?? this.#list;
  }

  /** Ends the current command; if `background` is not null, also the list that it is part of. */
  #end(background: boolean | null) {
    if (this.#words.length > 0) {
      const times = this.#loops.reduce<number | null>((all, n) => (all === null || n === null ? null : all * n), 1);
      const isPiped = this.#input === undefined && this.#pipedFrom !== null;
      if (isPiped) this.#pipes.set(this.#found.length, this.#pipedFrom ?? -1);
      const input = isPiped ? null : this.#input;
      const command = { words: this.#words, input, background: false, times, writes: this.#writes };
      this.#found.push(command);
      this.#known.add(command);
    }
    if (background === true)
      for (let i = this.#list; i < this.#found.length; i += 1) {
        const command = this.#found[i];
        if (command !== undefined) this.#found[i] = { ...command, background };
      }
    if (background !== null) this.#list = this.#found.length;
    this.#words = [];
    this.#input = undefined;
    this.#writes = null;
    this.#pipedFrom = null;
  }

  #redirect() {
    const operator =
      /^(?:\d|&)?(?:<<<|<<-?|<\(|>\(|<>|>>|>\||[<>]&?)/.exec(this.#text.slice(this.#at, this.#at + 5))?.[0] ?? "<";
    this.#at += operator.length;
    if (operator.endsWith("(")) {
      this.#inner(this.#untilParenthesis());
      return;
    }
    this.#skipBlanks();
    const target = this.#readWord();
    if (operator.endsWith("<<<")) this.#input = target;
    else if (/<<-?$/.test(operator)) {
      const index = this.#found.length;
      const words = this.#words;
      this.#input = null;
      this.#heredocs.push({
        end: literal(target) ?? "",
        take: (body) => {
          // The command may have ended before the body was read.
          if (this.#words === words && this.#found.length === index) this.#input = body;
          else {
            const command = this.#found.findIndex((one) => one.words === words);
            const known = this.#found[command];
            if (known === undefined) return;
            this.#found[command] = { ...known, input: body };
            this.#known.add({ ...known, input: body });
          }
        },
      });
    } else this.#useFile(operator, literal(target));
  }

  #useFile(operator: string, path: string | null) {
    if (operator.includes("<")) this.#input = path === "/dev/null" ? undefined : (this.#known.files.get(path) ?? null);
    else if (path !== null && /^[1&]?>[>|]?$/.test(operator))
      this.#writes = { path, isAppended: operator.endsWith(">>") };
  }

  #readBodies() {
    const heredocs = this.#heredocs;
    this.#heredocs = [];
    for (const { end, take } of heredocs) take(this.#bodyUntil(end).split(EXPANSION));
  }

  /** The lines up to the one that ends a heredoc; continues behind it. */
  #bodyUntil(end: string): string {
    const lines: string[] = [];
    while (this.#at < this.#text.length) {
      const line = this.#text.slice(this.#at, this.#lineEnd());
      this.#at = this.#lineEnd() + 1;
      if (line.trim() === end) break;
      lines.push(line);
    }
    return lines.join("\n");
  }

  #heredocAtPosition(): RegExpExecArray | null {
    HEREDOC.lastIndex = this.#at;
    return HEREDOC.exec(this.#text);
  }

  #inner(script: string): readonly SimpleCommand[] {
    const commands = simpleCommands(script, this.#depth + 1);
    this.#found.push(...commands);
    return commands;
  }

  #readWord(): Word {
    const pieces = [""];
    const add = (text: string) => {
      pieces[pieces.length - 1] += text;
    };
    while (this.#at < this.#text.length) {
      const plain = this.#untilEnd();
      if (plain !== "") add(plain);
      const char = this.#text[this.#at] ?? "";
      if (char === "'") add(this.#until("'"));
      else if (char === '"') this.#readQuoted(pieces);
      else if (char === "\\") {
        if (this.#text[this.#at + 1] !== "\n") add(this.#text[this.#at + 1] ?? "");
        this.#at += 2;
      } else if (EXPANDS.test(char)) this.#expand(pieces);
      else break;
    }
    return pieces;
  }

  /** The text up to the next character with a meaning; continues there. */
  #untilEnd(): string {
    WORD_END.lastIndex = this.#at;
    const end = WORD_END.exec(this.#text)?.index ?? this.#text.length;
    const plain = this.#text.slice(this.#at, end);
    this.#at = end;
    return plain;
  }

  #readQuoted(pieces: string[]) {
    this.#at += 1;
    while (this.#at < this.#text.length && this.#text[this.#at] !== '"') {
      const char = this.#text[this.#at] ?? "";
      const next = this.#text[this.#at + 1] ?? "";
      if (char === "\\" && '"\\$`\n'.includes(next)) {
        if (next !== "\n") pieces[pieces.length - 1] += next;
        this.#at += 2;
      } else if (EXPANDS.test(char)) this.#expand(pieces);
      else {
        pieces[pieces.length - 1] += char;
        this.#at += 1;
      }
    }
    this.#at += 1;
  }

  /** The text between the current character and the next `char`; continues behind it. */
  #until(char: string): string {
    const start = this.#at + 1;
    const end = this.#text.indexOf(char, start);
    this.#at = end < 0 ? this.#text.length : end + 1;
    return this.#text.slice(start, end < 0 ? undefined : end);
  }

  #expand(pieces: string[]) {
    const next = this.#text[this.#at + 1] ?? "";
    let value: Word | null | undefined;
    if (this.#text[this.#at] === "`") value = this.#known.substituted(this.#inner(this.#until("`")));
    else if (next === "'") {
      this.#at += 1;
      pieces[pieces.length - 1] += unescaped(this.#until("'"));
      return;
    } else if (next === "(") {
      this.#at += 2;
      value = this.#known.substituted(this.#inner(this.#untilParenthesis()));
    } else if (next === "{") {
      this.#at += 1;
      value = this.#known.variable(this.#until("}"));
    } else {
      const name = /^\$(?:\w+|[@*#?$!-])/.exec(this.#text.slice(this.#at, this.#at + 100))?.[0];
      this.#at += name?.length ?? 1;
      if (name === undefined) {
        pieces[pieces.length - 1] += this.#text[this.#at - 1] ?? "";
        return;
      }
      value = this.#known.variable(name.slice(1));
    }
    const [first, ...more] = value ?? ["", ""];
    pieces[pieces.length - 1] += first ?? "";
    pieces.push(...more);
  }

  /** The script up to the matching parenthesis; quotes and the bodies of heredocs are skipped. */
  #untilParenthesis(): string {
    const start = this.#at;
    const bodies: string[] = [];
    let open = 1;
    while (this.#at < this.#text.length) {
      const char = this.#text[this.#at] ?? "";
      const heredoc = char === "<" ? this.#heredocAtPosition() : null;
      if (heredoc !== null) {
        this.#at += heredoc[0].length;
        bodies.push(heredoc[1] ?? "");
      } else if (char === "\n") {
        this.#at += 1;
        for (const end of bodies.splice(0)) this.#bodyUntil(end);
      } else if (char === "'") this.#until("'");
      else if (char === '"') this.#skipQuoted();
      else {
        if (char === "\\") this.#at += 1;
        if (char === "(") open += 1;
        if (char === ")") open -= 1;
        this.#at += 1;
        if (open === 0) return this.#text.slice(start, this.#at - 1);
      }
    }
    return this.#text.slice(start);
  }

  #skipQuoted() {
    this.#at += 1;
    while (this.#at < this.#text.length && this.#text[this.#at] !== '"')
      this.#at += this.#text[this.#at] === "\\" ? 2 : 1;
    this.#at += 1;
  }
}

/** The number of words that a word of a `for` loop expands to; null if unknown. */
function countOf(word: Word): number | null {
  const text = literal(word);
  const [, from, to] = /^\{(\d{1,4})\.\.(\d{1,4})\}$/.exec(text ?? "") ?? [];
  if (from !== undefined && to !== undefined) return Math.abs(Number(to) - Number(from)) + 1;
  return text === null || /[*?[{]/.test(text) ? null : 1;
}

const unescaped = (text: string) =>
  text.replace(/\\([nt\\'"])/g, (_, char: string) => ({ n: "\n", t: "\t" })[char] ?? char);
