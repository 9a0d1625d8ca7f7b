import { describe, expect, it } from "vitest";
import { LinuxClients, userIn } from "./clients-linux.ts";

/** As the kernel writes it on a little-endian machine. */
const TABLE = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:128B 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 5001 1 0000000000000000 100 0 0 10 0
   1: 0100007F:128B 0100007F:D431 01 00000000:00000000 00:00000000 00000000  1000        0 5002 1 0000000000000000 20 4 30 10 -1
   2: 0100007F:D431 0100007F:128B 01 00000000:00000000 00:00000000 00000000  1001        0 5003 1 0000000000000000 20 4 30 10 -1
   3: 0100007F:128B 0100007F:D432 08 00000000:00000000 00:00000000 00000000  1000        0 5004 1 0000000000000000 20 4 30 10 -1
   4: 0100007F:D432 0100007F:128B 05 00000000:00000000 00:00000000 00000000     0        0 0 1 0000000000000000 20 4 30 10 -1
   5: 0100007F:D433 0100007F:128B 06 00000000:00000000 03:00001000 00000000     0        0 0 3 0000000000000000
   6: 0100007F:D434 0100007F:128B 01 00000000:00000000 00:00000000 00000000  1002        0 5005 1 0000000000000000 20 4 30 10 -1
   7: 0100007F:128B 0100007F:D435 01 00000000:00000000 00:00000000 00000000  1000        0 5006 1 0000000000000000 20 4 30 10 -1
   8: 0100007F:128B 0100007F:D437 01 00000000:00000000 00:00000000 00000000  1000        0 5010 1 0000000000000000 20 4 30 10 -1
   9: 0100007F:D437 0100007F:128B 01 00000000:00000000 00:00000000 00000000 65534        0 5011 1 0000000000000000 20 4 30 10 -1

  sl  local_address                         remote_address                        st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0000000000000000FFFF00000100007F:D435 0000000000000000FFFF00000100007F:128B 01 00000000:00000000 00:00000000 00000000  1003        0 5007 1 0000000000000000 20 4 30 10 -1
   1: 00000000000000000000000001000000:128B 00000000000000000000000001000000:D436 01 00000000:00000000 00:00000000 00000000  1000        0 5008 1 0000000000000000 20 4 30 10 -1
   2: 00000000000000000000000001000000:D436 00000000000000000000000001000000:128B 01 00000000:00000000 00:00000000 00000000  1004        0 5009 1 0000000000000000 20 4 30 10 -1
`;
const LOCAL = { localAddress: "127.0.0.1", localPort: 0x128b, remoteAddress: "127.0.0.1" };

describe("the user of a client, from the kernel's table", () => {
  it.each([
    ["is that of the client's end, not of ours", { ...LOCAL, remotePort: 0xd431 }, 1001],
    [
      "is found by a server for IPv4 and IPv6",
      { ...LOCAL, localAddress: "::ffff:127.0.0.1", remoteAddress: "::ffff:127.0.0.1", remotePort: 0xd431 },
      1001,
    ],
    ["is found where the client's socket is one for IPv6", { ...LOCAL, remotePort: 0xd435 }, 1003],
    ["is found over IPv6", { localAddress: "::1", localPort: 0x128b, remoteAddress: "::1", remotePort: 0xd436 }, 1004],
    [
      "is not known of a socket that its process closed, which the kernel calls root's",
      { ...LOCAL, remotePort: 0xd432 },
      null,
    ],
    [
      "is not known of a connection in TIME_WAIT, which the kernel calls root's",
      { ...LOCAL, remotePort: 0xd433 },
      null,
    ],
    ["is not known once our end is gone: the port may have a new user", { ...LOCAL, remotePort: 0xd434 }, null],
    ["is not known where there is no such connection", { ...LOCAL, remotePort: 0x1111 }, null],
    ["is not known of an address that is none", { ...LOCAL, remoteAddress: "somewhere", remotePort: 0xd431 }, null],
    ["is not known of a socket that was closed", {}, null],
  ])("%s", (_, connection, user) => {
    expect(userIn(TABLE, connection)).toBe(user);
  });

  it("is unknown if it is in another user namespace", async () => {
    expect(await new LinuxClients(() => Promise.resolve(TABLE)).userOf({ ...LOCAL, remotePort: 0xd437 })).toBe(null);
  });

  it("reads once for all concurrent lookups, and each table at most three times for an unknown connection", async () => {
    const reads: string[] = [];
    const clients = new LinuxClients(async (path) => {
      reads.push(path);
      return TABLE;
    });
    const first = clients.userOf({ ...LOCAL, remotePort: 0xd431 });
    const others = Array.from({ length: 100 }, () => clients.userOf({ ...LOCAL, remotePort: 0xd431 }));
    expect(new Set(await Promise.all([first, ...others]))).toEqual(new Set([1001]));
    expect(reads.length).toBeLessThanOrEqual(2);
    reads.length = 0;
    expect(await clients.userOf({ ...LOCAL, remotePort: 0x1111 })).toBe(null);
    expect(reads).toEqual([
      "/proc/net/tcp",
      "/proc/net/tcp6",
      "/proc/net/tcp",
      "/proc/net/tcp6",
      "/proc/net/tcp",
      "/proc/net/tcp6",
    ]);
    reads.length = 0;
    expect(
      await clients.userOf({ localAddress: "::1", localPort: 0x128b, remoteAddress: "::1", remotePort: 0xd436 }),
    ).toBe(1004);
    expect(reads).toEqual(["/proc/net/tcp6"]);
  });
});
