/** Why a command failed, and what to do instead. The command line exits with 1. */
export class Failure extends Error {}

/** The arguments cannot be understood: the command line exits with 2. */
export class WrongUsage extends Failure {}
