/** The lines of the installing process, one JSON object each. */
export type InstallerLine =
  | { readonly kind: "progress"; readonly step: string; readonly done: number }
  | { readonly kind: "installed"; readonly folder: string }
  | { readonly kind: "failed"; readonly message: string }
