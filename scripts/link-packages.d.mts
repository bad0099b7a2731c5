/** Makes `node_modules` of a copy of the project: links to what is installed, but the repository's packages its own. */
export declare const linkPackages: (root: string, copy: string) => void
