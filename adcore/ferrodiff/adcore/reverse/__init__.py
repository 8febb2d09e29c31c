"""The VJP transform: plan what the reverse sweep needs, keep it, sweep back."""
