import { storeContract } from "../../test/contract/store.ts";
import { MemoryStore } from "./memory.ts";

storeContract("memory", async () => new MemoryStore());
