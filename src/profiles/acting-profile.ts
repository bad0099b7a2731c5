/**
 * The part of a profile that a search needs: the active release, else the draft, which applies until something is
 * published.
 */
import type { ProfileManifest } from "./manifest.ts"

export interface ActiveRelease {
  readonly id: string
  readonly version: number
  readonly manifest: ProfileManifest
}
export interface ActingProfile {
  readonly name: string
  readonly draft: ProfileManifest
  readonly active: ActiveRelease | undefined
}
export const actingManifest = ({ active, draft }: ActingProfile): ProfileManifest => active?.manifest ?? draft
