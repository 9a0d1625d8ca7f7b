import type { FileStream, Provider } from "../../core/ports/provider.ts";
import { NAME } from "./anonymous.ts";
import { dialectsOf } from "./identify.ts";
import { Traffic } from "./traffic.ts";

/** API traffic recorded by retinue's proxy. The dialect of each product is in its folder. */
export function proxyOf(products: readonly Provider[]): Provider {
  const dialects = dialectsOf(products);
  return {
    name: NAME,
    product: "API proxy",
    versions: null,
    docs: "docs/formats/proxy.md",
    vendor: null,
    folders: [],
    idForm: "a conversation is named by its first request, such as req-mh1k2v9c-4f2a",
    roots: () => [],
    stream: () => null,
    recorded: (path): FileStream | null =>
      path.endsWith(".jsonl") ? { shape: "lines", open: (file, saved) => new Traffic(dialects, file, saved) } : null,
    isThreadId: (id) => /^[\w-]{3,}$/.test(id),
    isAgentId: (id) => /^[\w-]+$/.test(id),
  };
}
