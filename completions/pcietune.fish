# Completion of pcietune's command line for fish: pcietune itself says what may stand here.
complete --command pcietune --no-files \
    --condition "_PCIETUNE_COMPLETE=complete_fish _TYPER_COMPLETE_FISH_ACTION=is-args _TYPER_COMPLETE_ARGS=(commandline -cp) pcietune" \
    --arguments "(_PCIETUNE_COMPLETE=complete_fish _TYPER_COMPLETE_FISH_ACTION=get-args _TYPER_COMPLETE_ARGS=(commandline -cp) pcietune)"
