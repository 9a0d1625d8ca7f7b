/** Loaded into the measured process: reports what is not visible from outside. */
process.on("message", (message) => {
  if (message === "collect") globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  process.send?.({
    heapUsed,
    external,
    handles: process.getActiveResourcesInfo().filter((name) => name !== "PipeWrap" && name !== "Timeout").length,
  });
});
// The channel must not keep the process alive.
process.channel?.unref();
