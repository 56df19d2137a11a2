/** What a command could not do: why, and what to do instead. The command line ends with 1. */
export class Failure extends Error {}

/** What was asked for cannot be read as a wish: the command line ends with 2. */
export class WrongUsage extends Failure {}
