/** JSON with comments and trailing commas, as editors and several products accept it in settings files. */

const STRING = '"(?:[^"\\\\]|\\\\.)*"';
const COMMENTS = new RegExp(`${STRING}|//[^\\r\\n]*|/\\*[\\s\\S]*?(?:\\*/|$)`, "g");
const LAST_COMMAS = new RegExp(`${STRING}|,(?=\\s*[}\\]])`, "g");
const TOKENS = new RegExp(`${STRING}|[{}[\\],:]`, "g");

const blank = (found: string) => (found.startsWith('"') ? found : found.replace(/[^\r\n]/g, " "));
const withoutComments = (text: string) => text.replace(/^\uFEFF/, " ").replace(COMMENTS, blank);

/** The same as plain JSON, with spaces in place of comments, trailing commas and a byte order mark. */
export const plainJson = (text: string): string => withoutComments(text).replace(LAST_COMMAS, blank);

interface Member {
  readonly name: string;
  /** From its name to the end of its value. */
  readonly from: number;
  readonly value: number;
  readonly to: number;
}

/** The values of all members with this name, as text: a name may be repeated, and most parsers use the last one. */
export const valuesOf = (text: string, name: string): readonly string[] =>
  membersOf(text).members.flatMap((member) => (member.name === name ? [text.slice(member.value, member.to)] : []));

/** A name that the object has more than once; null if there is none. */
export function repeatedName(text: string): string | null {
  const names = membersOf(text).members.map(({ name }) => name);
  return names.find((name, i) => names.indexOf(name) !== i) ?? null;
}

/** Sets a member of the object that the text contains, or removes it. Everything else stays as it is. */
export function withMember(text: string, name: string, value: unknown): string {
  const { members, end } = membersOf(text);
  const found = members.findLast((member) => member.name === name);
  if (value === undefined) return found === undefined ? text : without(text, members, found, end);
  const isSame =
    found !== undefined &&
    JSON.stringify(JSON.parse(plainJson(text).slice(found.value, found.to))) === JSON.stringify(value);
  if (isSame) return text;
  const indent = /^[ \t]+(?=\S)/m.exec(text)?.[0] ?? "  ";
  const line = text.includes("\r\n") ? "\r\n" : "\n";
  const json = JSON.stringify(value, null, indent).replaceAll("\n", `${line}${indent}`);
  if (found !== undefined) return text.slice(0, found.value) + json + text.slice(found.to);
  const last = members.at(-1)?.to ?? plainJson(text).indexOf("{") + 1;
  const hasComma = members.length === 0 || withoutComments(text).slice(last, end).includes(",");
  const rest = text.slice(last, end);
  const space = rest.slice(rest.trimEnd().length);
  const added = `${line}${indent}${JSON.stringify(name)}: ${json}${space.includes("\n") ? space : line}`;
  return `${text.slice(0, last)}${hasComma ? "" : ","}${rest.trimEnd()}${added}${text.slice(end)}`;
}

/** With the comma after it, or before it if it is the last one, and with the line that it begins. */
function without(text: string, members: readonly Member[], { from, to }: Member, end: number): string {
  const next = members.find((member) => member.from > from);
  const previous = members.findLast((member) => member.from < from);
  const commas = withoutComments(text);
  const after = commas.indexOf(",", to);
  const isFollowed = after >= 0 && after < (next?.from ?? end);
  const rest = text.slice(isFollowed ? after + 1 : to);
  const space = text.slice(0, from).trimEnd().length;
  const isBehindComment = space > commas.slice(0, from).trimEnd().length;
  // A line break ends a comment.
  const kept = text.slice(0, isBehindComment && !/^[ \t]*\r?\n/.test(rest) ? from : space);
  if (isFollowed) return kept + rest;
  if (previous === undefined) return kept + (isBehindComment ? rest : rest.trimStart());
  const before = commas.indexOf(",", previous.to);
  return kept.slice(0, before) + kept.slice(before + 1) + rest;
}

/** The members of the outermost object, and where it ends. */
function membersOf(text: string): { readonly members: readonly Member[]; readonly end: number } {
  const plain = plainJson(text);
  const members: Member[] = [];
  let depth = 0;
  let name: { readonly text: string; readonly at: number } | null = null;
  let colon: number | null = null;
  const close = (at: number) => {
    if (name === null || colon === null) return;
    const value = plain.slice(colon + 1, at);
    const start = at - value.trimStart().length;
    members.push({
      name: JSON.parse(name.text) as string,
      from: name.at,
      value: start,
      to: start + value.trim().length,
    });
    name = colon = null;
  };
  for (const { 0: token, index } of plain.matchAll(TOKENS)) {
    if (token === "{" || token === "[") depth += 1;
    else if (token === "}" || token === "]") depth -= 1;
    else if (depth === 1 && token === ",") close(index);
    else if (depth === 1 && token === ":") colon ??= index;
    else if (depth === 1) name ??= { text: token, at: index };
    if (depth > 0) continue;
    close(index);
    return { members, end: index };
  }
  return { members, end: plain.length };
}
