// What `tidemark explain` prints.
import { execFileSync } from 'node:child_process';

/** Its figures, and its sentences in order: all but those of a replay, which the page does not make. */
export function explained(cli, path, device = null) {
  const report = execFileSync(
    cli,
    ['explain', path, '--format', 'json', ...(device === null ? [] : ['--device', String(device)])],
    { stdio: ['ignore', 'pipe', 'ignore'] },
  );
  const { figures, sentences } = JSON.parse(report.toString());
  const said = Object.entries(sentences).filter(([key]) => key !== 'help');
  return { figures, sentences: said.flatMap(([, texts]) => texts) };
}
