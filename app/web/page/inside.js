export function showInside() {}
