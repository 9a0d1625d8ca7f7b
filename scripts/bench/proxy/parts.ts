/**
 * Servers for the benchmark, each run as its own process: `upstream` streams the requested number of bytes, `pipe
 * <url>` forwards requests to it and does nothing else.
 */
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";

const [part, target = ""] = process.argv.slice(2);

const delta = (i: number) =>
  `event: content_block_delta\ndata: ${JSON.stringify({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text: `word ${i} `.repeat(12) } })}\n\n`;
const OPENING =
  'event: message_start\ndata: {"type":"message_start","message":{"id":"msg_bench","model":"m","usage":{"input_tokens":1,"output_tokens":1}}}\n\nevent: content_block_start\ndata: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}\n\n';
const CHUNK = Buffer.from(Array.from({ length: 80 }, (_, i) => delta(i)).join(""));
const ENDING =
  'event: content_block_stop\ndata: {"type":"content_block_stop","index":0}\n\nevent: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":9}}\n\nevent: message_stop\ndata: {"type":"message_stop"}\n\n';

const upstream = createServer((incoming, outgoing) => {
  const wanted = Number(new URL(incoming.url ?? "/", "http://x").searchParams.get("bytes") ?? 0);
  incoming.resume();
  incoming.on("end", () => {
    outgoing.writeHead(200, { "content-type": "text/event-stream" });
    outgoing.write(OPENING);
    let sent = 0;
    const more = () => {
      while (sent < wanted) {
        sent += CHUNK.length;
        if (!outgoing.write(CHUNK)) return outgoing.once("drain", more);
      }
      return outgoing.end(ENDING);
    };
    more();
  });
});

const pipe = createServer((incoming, outgoing) => {
  const { hostname, port } = new URL(target);
  const up = request(
    { hostname, port, method: incoming.method, path: incoming.url, headers: incoming.headers },
    (response) => {
      outgoing.writeHead(response.statusCode ?? 502, response.headers);
      response.pipe(outgoing);
    },
  );
  incoming.pipe(up);
});

const server = part === "pipe" ? pipe : upstream;
// Longer than the time between two uses of a connection, even on a busy machine.
server.keepAliveTimeout = 75_000;
server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`));
