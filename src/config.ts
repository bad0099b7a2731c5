/** Every setting, with its unit in its name. Flags of the command line win over `DOWSER_*` variables, those over defaults. */
export interface ServerConfig {
  readonly host: string
  readonly port: number
  /** Where everything that must survive lives. */ readonly dataDir: string
  /** Make the demo organization's catalogue and visitors on the first start. */ readonly demo: boolean
  /** One JSON line on standard output when ready; logs go to standard error. */ readonly json: boolean
  /** Header in which a proxy in front names the visitor's country. */ readonly countryHeader: string | undefined
  /** Products of the demo catalogue. */ readonly demoProducts: number
}

export const portDefault = 3100
export const version = "0.1.0"
