// Copies what stands beside a button. Works from a file, without a network; without scripts no button is seen.
document.querySelectorAll(".copy").forEach((button) => {
  button.hidden = false;
  button.addEventListener("click", async () => {
    const code = button.parentElement.querySelector("code");
    let copied = true;
    try {
      await navigator.clipboard.writeText(code.textContent);
    } catch {
      // Some browsers give files no clipboard: select the text and copy it the old way.
      const range = document.createRange();
      range.selectNodeContents(code);
      getSelection().removeAllRanges();
      getSelection().addRange(range);
      copied = document.execCommand("copy");
    }
    button.textContent = copied ? "Copied" : "Selected";
    setTimeout(() => { button.textContent = "Copy"; }, 2000);
  });
});
