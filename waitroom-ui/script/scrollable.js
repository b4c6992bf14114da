// Lets the keyboard reach and scroll a part whose content is larger than the part.

/** Puts the element into the order of the Tab key while its content is larger than it. */
export function reachWhileScrollable(element) {
  const look = () => {
    const isLarger = element.scrollHeight > element.clientHeight + 1 || element.scrollWidth > element.clientWidth + 1;
    if (isLarger) element.tabIndex = 0;
    else if (document.activeElement !== element) element.removeAttribute("tabindex");
  };
  new ResizeObserver(look).observe(element);
  new MutationObserver(look).observe(element, { childList: true, subtree: true, attributes: true, attributeFilter: ["hidden"] });
}
