import { runProgram } from '../run.ts'
import { merchant } from './simulator.ts'

await runProgram(merchant)
