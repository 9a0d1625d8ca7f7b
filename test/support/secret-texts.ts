/** Texts with secrets, made from the templates in `secret-texts.txt`. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { maker } from "./secret-formats.ts";

export interface SecretText {
  readonly list: string;
  readonly name: string;
  readonly text: string;
  readonly secrets: readonly string[];
}

const WORDS = ["hunter2", "swordfish", "letmein", "opensesame", "correcthorse", "dragonfly", "qwertz", "s3cr3t"];
const SECRET = /«(?:=([^»]*)|B([^»]*)|([a-zA-Z])(\d*))»/g;

const plain = (text: string) =>
  text
    .replaceAll("⏎", "\n")
    .replace(/⟨([0-9A-F]{4})⟩/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));

export function secretTexts(): SecretText[] {
  const texts: SecretText[] = [];
  let list = "";
  for (const line of readFileSync(join(import.meta.dirname, "secret-texts.txt"), "utf8").split("\n")) {
    if (line.startsWith("## ")) list = line.slice(3);
    const at = line.indexOf(" :: ");
    if (list === "" || at < 0) continue;
    const secrets: string[] = [];
    const make = maker(texts.length + 5_000);
    const text = plain(line.slice(at + 4)).replace(SECRET, (_, literal, wrapped, kind = "", length = "0") => {
      const secret =
        literal ??
        (wrapped === undefined
          ? made(make, kind, Number(length))
          : Buffer.from(wrapped).toString("base64").replace(/=+$/, ""));
      secrets.push(secret);
      return secret;
    });
    texts.push({ list, name: line.slice(0, at), text, secrets });
  }
  return texts;
}

function made(make: ReturnType<typeof maker>, kind: string, length: number): string {
  const kinds: Readonly<Record<string, () => string>> = {
    a: () => make.alnum(length),
    x: () => make.hex(length),
    u: () => make.url(length),
    b: () => make.base64(length),
    p: () => make.password(length),
    U: () => make.upper(length),
    l: () => make.lower(length),
    d: () => make.digits(length),
    g: () => make.uuid(),
    w: () => WORDS[Number(make.digits(2)) % WORDS.length] ?? "",
  };
  const value = kinds[kind]?.();
  if (value === undefined) throw new Error(`no such kind of secret: ${kind}`);
  return value;
}

/** Whether twelve characters of a secret, or all of a shorter one, are left in a text. */
export function isLeft(text: string, secret: string): boolean {
  if (secret.length <= 12) return text.includes(secret);
  for (let at = 0; at + 12 <= secret.length; at++) if (text.includes(secret.slice(at, at + 12))) return true;
  return false;
}
