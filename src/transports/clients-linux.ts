import { type FileHandle, open } from "node:fs/promises";
import { isIPv4, isIPv6 } from "node:net";
import { endianness } from "node:os";
import type { Clients, Connection } from "./clients.ts";

const [TABLE, TABLE_6] = ["/proc/net/tcp", "/proc/net/tcp6"] as const;
/** More than 100,000 connections; what is not found within is not known. */
const MAX_TABLE = 16 << 20;
/** The kernel writes the table bit by bit: while connections come and go, it may leave one out. */
const TRIES = 3;
/** What the kernel writes for users of whom our user namespace has no id. */
const OVERFLOW_USER = 65_534;

/** Looks the client's own end of the connection up in the kernel's table of TCP connections, which names its user. */
export class LinuxClients implements Clients {
  readonly #tables: ReadonlyMap<string, SharedReading>;

  constructor(read: (path: string) => Promise<string> = readTable) {
    this.#tables = new Map([TABLE, TABLE_6].map((path) => [path, new SharedReading(() => read(path))]));
  }

  async userOf(connection: Connection): Promise<number | null> {
    // Where both ends are sockets for IPv4, as a rule, one table has them.
    const paths = isIPv4(plainAddress(connection.remoteAddress)) ? [TABLE, TABLE_6] : [TABLE_6];
    for (let tries = 0; tries < TRIES; tries += 1) {
      let text = "";
      for (const path of paths) {
        text += `\n${await this.#tables.get(path)?.next()}`;
        const user = userIn(text, connection);
        if (user !== null) return user === OVERFLOW_USER ? null : user;
      }
    }
    return null;
  }
}

/** Going through all connections costs the kernel milliseconds: those who ask during one reading share the next. */
class SharedReading {
  readonly #read: () => Promise<string>;
  #current: Promise<unknown> = Promise.resolve();
  #next: Promise<string> | null = null;

  constructor(read: () => Promise<string>) {
    this.#read = read;
  }

  /** One that begins from now on. */
  next(): Promise<string> {
    this.#next ??= this.#current.then(() => {
      this.#next = null;
      const reading = this.#read();
      this.#current = reading.catch(() => {});
      return reading;
    });
    return this.#next;
  }
}

/** The user at the other end, by a table as the kernel writes it; null where it does not say. */
export function userIn(table: string, { remoteAddress, remotePort, localAddress, localPort }: Connection): number | null {
  const [theirs, ours] = [namesOf(remoteAddress, remotePort), namesOf(localAddress, localPort)];
  const client = rowOf(table, theirs, ours);
  // Our end must still be there, or another client may have the same port by now.
  if (client === null || rowOf(table, ours, theirs) === null) return null;
  return client;
}

/** A socket without an inode has been closed by its process: the kernel then writes root as its user. */
function rowOf(table: string, from: readonly string[], to: readonly string[]): number | null {
  for (const [i, name] of from.entries()) {
    const at = table.indexOf(`: ${name} ${to[i]} `);
    if (at < 0) continue;
    const [, , , , , , , user, , inode] = table.slice(at, table.indexOf("\n", at)).split(/ +/);
    if (inode !== "0" && /^\d+$/.test(user ?? "")) return Number(user);
  }
  return null;
}

/** How the table may name one end: an IPv4 address stands in the table of IPv6 sockets, too. */
function namesOf(address = "", port = 0): readonly string[] {
  const plain = plainAddress(address);
  const end = port.toString(16).toUpperCase().padStart(4, "0");
  if (isIPv4(plain)) {
    const word = plain.split(".").map((byte) => Number(byte).toString(16).padStart(2, "0"));
    const hex = asStored(word.join(""));
    return [`${hex}:${end}`, `${asStored(`${"0".repeat(20)}ffff`)}${hex}:${end}`];
  }
  return isIPv6(plain) ? [`${asStored(expanded(plain))}:${end}`] : [];
}

/** An IPv4 address as such, and without a zone. */
const plainAddress = (address = "") => address.replace(/^::ffff:(?=\d+\.)/i, "").replace(/%.*$/, "");

function expanded(address: string): string {
  const [left = [], right = []] = address.split("::").map((part) => (part === "" ? [] : part.split(":")));
  const zeros = Array<string>(8 - left.length - right.length).fill("0");
  return [...left, ...zeros, ...right].map((group) => group.padStart(4, "0")).join("");
}

/** Words of 32 bits, each as the machine stores it. */
function asStored(hex: string): string {
  const words = hex.match(/.{8}/g) ?? [];
  const stored = endianness() === "LE" ? words.map((word) => (word.match(/../g) ?? []).reverse().join("")) : words;
  return stored.join("").toUpperCase();
}

/** Empty where it cannot be read: not every system has IPv6, or shows the table. */
async function readTable(path: string): Promise<string> {
  let file: FileHandle | null = null;
  try {
    file = await open(path);
    // The kernel gives out a page at a time.
    const page = Buffer.alloc(8192);
    let text = "";
    while (text.length < MAX_TABLE) {
      const { bytesRead } = await file.read(page, 0, page.length, null);
      if (bytesRead === 0) break;
      text += page.toString("latin1", 0, bytesRead);
    }
    return text;
  } catch {
    return "";
  } finally {
    await file?.close();
  }
}
