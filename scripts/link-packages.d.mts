/** Creates `node_modules` for a copy of the project: links, except to the copy's own packages. */
export declare const linkPackages: (root: string, copy: string) => void
