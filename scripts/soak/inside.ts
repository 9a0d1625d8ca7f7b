/** Loaded into the measured process: reports what only the process itself knows. */
process.on("message", (message) => {
  if (message === "collect") globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  process.send?.({
    heapUsed,
    external,
    handles: process.getActiveResourcesInfo().filter((name) => name !== "PipeWrap" && name !== "Timeout").length,
  });
});
// It must not keep the process from ending.
process.channel?.unref();
