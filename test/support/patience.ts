/**
 * How much longer than promised something may take where the whole suite is at work on the machine, as
 * `scripts/bootstrap.mjs` says; who runs a file alone holds it to the promise itself.
 */
const factor = Number(process.env.DOWSER_TEST_PATIENCE ?? 1)
export const promised = (ms: number): number => ms * factor
