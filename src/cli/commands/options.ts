export const jsonOption = ['--json', 'print JSON for machines'] as const
