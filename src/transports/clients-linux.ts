import { type FileHandle, open } from "node:fs/promises";
import { isIPv4, isIPv6 } from "node:net";
import { endianness } from "node:os";
import type { Clients, Connection } from "./clients.ts";

const [TABLE, TABLE_6] = ["/proc/net/tcp", "/proc/net/tcp6"] as const;
/** Enough for 100,000 connections; beyond that the owner is unknown. */
const MAX_TABLE = 16 << 20;
/** The kernel writes the table in parts and may omit a connection while others come and go. */
const TRIES = 3;
/** The uid that the kernel reports for users outside of our user namespace. */
const OVERFLOW_USER = 65_534;

/** Looks up the client's end of the connection in the kernel's TCP table, which contains its uid. */
export class LinuxClients implements Clients {
  readonly #tables: ReadonlyMap<string, SharedReading>;

  constructor(read: (path: string) => Promise<string> = readTable) {
    this.#tables = new Map([TABLE, TABLE_6].map((path) => [path, new SharedReading(() => read(path))]));
  }

  async userOf(connection: Connection): Promise<number | null> {
    // If both ends are IPv4 sockets, which is usual, they are in one table.
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

/** Reading all connections costs the kernel milliseconds: concurrent lookups share the next reading. */
class SharedReading {
  readonly #read: () => Promise<string>;
  #current: Promise<unknown> = Promise.resolve();
  #next: Promise<string> | null = null;

  constructor(read: () => Promise<string>) {
    this.#read = read;
  }

  /** The next reading that has not started yet. */
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

/** The uid at the other end, from the kernel's table; null if unknown. */
export function userIn(
  table: string,
  { remoteAddress, remotePort, localAddress, localPort }: Connection,
): number | null {
  const [remote, local] = [namesOf(remoteAddress, remotePort), namesOf(localAddress, localPort)];
  const client = rowOf(table, remote, local);
  // Our end must still exist; otherwise another client may have the same port by now.
  if (client === null || rowOf(table, local, remote) === null) return null;
  return client;
}

/** Skips sockets without an inode: they are closed, and the kernel reports root as their owner. */
function rowOf(table: string, from: readonly string[], to: readonly string[]): number | null {
  for (const [i, name] of from.entries()) {
    const at = table.indexOf(`: ${name} ${to[i]} `);
    if (at < 0) continue;
    const [, , , , , , , user, , inode] = table.slice(at, table.indexOf("\n", at)).split(/ +/);
    if (inode !== "0" && /^\d+$/.test(user ?? "")) return Number(user);
  }
  return null;
}

/** How the table may write one end: an IPv4 address may also be in the IPv6 table. */
function namesOf(address = "", port = 0): readonly string[] {
  const plain = plainAddress(address);
  const end = port.toString(16).toUpperCase().padStart(4, "0");
  if (isIPv4(plain)) {
    const octets = plain.split(".").map((byte) => Number(byte).toString(16).padStart(2, "0"));
    const hex = asStored(octets.join(""));
    return [`${hex}:${end}`, `${asStored(`${"0".repeat(20)}ffff`)}${hex}:${end}`];
  }
  return isIPv6(plain) ? [`${asStored(expanded(plain))}:${end}`] : [];
}

/** An IPv4-mapped address as IPv4, and without a zone. */
const plainAddress = (address = "") => address.replace(/^::ffff:(?=\d+\.)/i, "").replace(/%.*$/, "");

function expanded(address: string): string {
  const [left = [], right = []] = address.split("::").map((part) => (part === "" ? [] : part.split(":")));
  const zeros = Array<string>(8 - left.length - right.length).fill("0");
  return [...left, ...zeros, ...right].map((group) => group.padStart(4, "0")).join("");
}

/** 32-bit words in the machine's byte order. */
function asStored(hex: string): string {
  const words = hex.match(/.{8}/g) ?? [];
  const stored = endianness() === "LE" ? words.map((word) => (word.match(/../g) ?? []).reverse().join("")) : words;
  return stored.join("").toUpperCase();
}

/** Empty if it cannot be read: not every system has IPv6 or exposes the table. */
async function readTable(path: string): Promise<string> {
  let file: FileHandle | null = null;
  try {
    file = await open(path);
    // The kernel returns one page at a time.
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
