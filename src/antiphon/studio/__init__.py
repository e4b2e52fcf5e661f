"""The web page: controls in Gradio, sound through an AudioWorklet."""
