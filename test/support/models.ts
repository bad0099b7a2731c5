/**
 * The installed models, for tests that need the real ones: in the program's folder, where the first such test installs
 * them (some 120 MB, once). `DOWSER_MODELS=off` skips these tests.
 */
import { join } from "node:path"
import { modelsFolder, readPinned } from "../../src/models/install/pinned.ts"
import { startInstaller } from "../../src/models/install/installer.ts"

interface InstalledModels {
  readonly folder: string
  /** Why no models are installed; undefined if they are. */ readonly missing: string | undefined
}
export const installedModels = async (): Promise<InstalledModels> => {
  const place = join(modelsFolder, "installed")
  const folder = join(place, readPinned().id)
  if (process.env.DOWSER_MODELS === "off") return { folder, missing: "DOWSER_MODELS=off leaves the models' lane out" }
  const failure = await startInstaller([place]).ended
  return {
    folder,
    missing: failure === undefined ? undefined : `the models' lane cannot have its models: ${failure}`
  }
}
/** For vectors of length one. */
export const cosine = (a: ArrayLike<number>, b: ArrayLike<number>): number =>
  Array.from(a).reduce((sum, value, i) => sum + value * b[i]!, 0)
